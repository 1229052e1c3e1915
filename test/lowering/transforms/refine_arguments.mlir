// RUN: tierup-opt %s --split-input-file --tierup-refine-arguments --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-refine-arguments --tierup-refine-arguments --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %arg0: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}, tierup.name = "x"}
// CHECK-SAME: %arg1: !torch.vtensor<[3],si64>
// CHECK-SAME: %arg2: !torch.int
// CHECK-NEXT: %[[S:.*]] = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807}
// CHECK-NEXT: torch.bind_symbolic_shape %arg0, [%[[S]]], affine_map<()[s0] -> (s0, 4)>
// CHECK-NEXT: return
func.func @sizes(%x: !torch.vtensor {tierup.name = "x", tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}},
                 %y: !torch.vtensor {tierup.guard = {dtype = "i64", kind = "array", sizes = [3]}},
                 %n: !torch.int {tierup.guard = {kind = "int", value = 3}}) attributes {tierup.entry} {
  return
}

// -----
// What is called by the entry, and a program without guards, is left.
// CHECK-LABEL: func.func @other(%arg0: !torch.vtensor)
func.func @other(%x: !torch.vtensor) {
  return
}

// -----
// expected-error@below {{'func.func' op is an entry of 1 arguments, of which 0 have tierup.guard}}
func.func @unsaid(%x: !torch.vtensor) attributes {tierup.entry} {
  return
}

// -----
// What hands an argument on agrees with its type, and so does what the function gives.
// CHECK-LABEL: func.func @handed_on
// CHECK-SAME: -> !torch.vtensor<[2],f32>
// CHECK-NEXT: %[[P:.*]] = "tierup.profile"(%arg0) {slot = 0 : i64} : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
// CHECK: %[[C:.*]] = torch.tensor_static_info_cast %[[P]] : !torch.vtensor<[2],f32> to !torch.vtensor
// CHECK-NEXT: torch.prim.If.yield %[[C]]
// CHECK: return %arg0 : !torch.vtensor<[2],f32>
func.func @handed_on(%x: !torch.vtensor {tierup.guard = {dtype = "f32", kind = "array", sizes = [2]}}, %c: !torch.bool {tierup.guard = {kind = "bool"}}) -> !torch.vtensor attributes {tierup.entry} {
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %0 : !torch.vtensor
  } else {
    %2 = torch.aten.neg %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %x : !torch.vtensor
}
