// RUN: tierup-opt %s --split-input-file --tierup-settle-results | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-settle-results --tierup-settle-results | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-SAME: %arg0: !torch.vtensor<[?,4],f32> {tierup.layout = "strided"}
// CHECK-SAME: -> !torch.vtensor<[4,?],f32>
// CHECK-SAME: tierup.result_kinds = ["buffer"]
// CHECK-SAME: torch.assume_strict_symbolic_shapes
// CHECK-NOT: torch.bind_symbolic_shape
// CHECK-NOT: torch.aten.exp
// CHECK: %[[N:.*]] = torch.aten.neg
// CHECK: %[[P:.*]] = torch.aten.permute %[[N]]
// CHECK: return %[[P]] : !torch.vtensor<[4,?],f32>
func.func @f(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = ["s0", 4]}}) -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>)
    attributes {tierup.entry, tierup.result_aliases = ["argument:0", "fresh"],
                tierup.results = [{argument = 0, kind = "alias"}, {dtype = "f32", kind = "buffer", order = [1, 0], sizes = ["s0", 4]}], tierup.ties = []} {
  %s = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %0 = torch.aten.exp %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.neg %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %x, %1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>
}

// -----
// Nothing was decided.
// CHECK-LABEL: func.func @undecided
// CHECK-SAME: tierup.guard
func.func @undecided(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}) attributes {tierup.entry} {
  return
}

// -----
// Memory in Fortran order is the rows of the transpose.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%arg0: !torch.vtensor<[4,?],f32>, %arg1: !torch.vtensor<[4],f32>)
// CHECK: %[[X:.*]] = torch.aten.permute %arg0
// CHECK-SAME: !torch.vtensor<[4,?],f32>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
// CHECK: torch.aten.neg %[[X]] : !torch.vtensor<[?,4],f32>
func.func @columns(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "columns", sizes = ["s0", 4]}},
                   %y: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}) -> !torch.vtensor<[?,4],f32>
    attributes {tierup.entry, tierup.result_aliases = ["fresh"], tierup.results = [{dtype = "f32", kind = "buffer", sizes = ["s0", 4]}], tierup.ties = []} {
  %1 = torch.aten.neg %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}
