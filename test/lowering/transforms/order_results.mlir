// RUN: tierup-opt %s --split-input-file --tierup-order-results | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-order-results --tierup-order-results | FileCheck %s

// CHECK-LABEL: func.func @eager
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", order = [1, 0], sizes = [4, 3]}]
func.func @eager(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}}) -> !torch.vtensor<[4,3],f32>
    attributes {tierup.entry, tierup.source = "fx", tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]} {
  %0 = torch.aten.t %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
  return %1 : !torch.vtensor<[4,3],f32>
}

// -----
// Before results are decided, orders are noted, which folding would forget.
// CHECK-LABEL: func.func @noted
// CHECK-SAME: tierup.orders = {{.}}[1, 0], [0, 1]]
func.func @noted(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}})
    -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[4,3],f32>) attributes {tierup.entry, tierup.source = "torchscript"} {
  %rows = torch.constant.int 0
  %0 = torch.aten.t %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.clone %0, %rows : !torch.vtensor<[4,3],f32>, !torch.int -> !torch.vtensor<[4,3],f32>
  %2 = torch.aten.t %1 : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[3,4],f32>
  return %2, %1 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[4,3],f32>
}

// -----
// CHECK-LABEL: func.func @kept
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", order = [1, 0], sizes = [3, 4]}]
func.func @kept(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}}) -> !torch.vtensor<[3,4],f32>
    attributes {tierup.entry, tierup.source = "torchscript", tierup.orders = [[1, 0]],
                tierup.results = [{dtype = "f32", kind = "buffer", sizes = [3, 4]}]} {
  %0 = torch.aten.neg %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  return %0 : !torch.vtensor<[3,4],f32>
}

// -----
// So is that a result is row-major: the copy that made it so is folded away by now.
// CHECK-LABEL: func.func @kept_in_rows
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]
func.func @kept_in_rows(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}}) -> !torch.vtensor<[4,3],f32>
    attributes {tierup.entry, tierup.source = "torchscript", tierup.orders = [[0, 1]],
                tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]} {
  %0 = torch.aten.t %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.neg %0 : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
  return %1 : !torch.vtensor<[4,3],f32>
}

// -----
// CHECK-LABEL: func.func @numpys
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", order = [1, 0], sizes = [4, 3]}]
func.func @numpys(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}}) -> !torch.vtensor<[4,3],f32>
    attributes {tierup.entry, tierup.source = "jit", tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]} {
  %0 = torch.aten.t %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
  return %1 : !torch.vtensor<[4,3],f32>
}

// -----
// CHECK-LABEL: func.func @of_the_dialect
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]
func.func @of_the_dialect(%x: !torch.vtensor<[3,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [3, 4]}}) -> !torch.vtensor<[4,3],f32>
    attributes {tierup.entry, tierup.results = [{dtype = "f32", kind = "buffer", sizes = [4, 3]}]} {
  %0 = torch.aten.t %x : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[4,3],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
  return %1 : !torch.vtensor<[4,3],f32>
}
