// RUN: tierup-opt %s --split-input-file --tierup-fold-numbers | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fold-numbers --tierup-fold-numbers | FileCheck %s

// A size that the type says, and a dtype; a symbolic size is the run's to say.
// CHECK-LABEL: func.func @known
// CHECK: %[[FOUR:.*]] = torch.constant.int 4
// CHECK: %[[SIX:.*]] = torch.constant.int 6
// CHECK: %[[N:.*]] = torch.aten.size.int %arg0, %int0
// CHECK: return %[[FOUR]], %[[SIX]], %[[N]]
func.func @known(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}}) -> (!torch.int, !torch.int, !torch.int) attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.size.int %x, %one : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int
  %1 = torch.prim.dtype %x : !torch.vtensor<[?,4],f32> -> !torch.int
  %2 = torch.aten.size.int %x, %zero : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int
  return %0, %1, %2 : !torch.int, !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @no_entry
// CHECK: torch.aten.size.int
func.func @no_entry(%x: !torch.vtensor<[3,4],f32>) -> !torch.int {
  %one = torch.constant.int 1
  %0 = torch.aten.size.int %x, %one : !torch.vtensor<[3,4],f32>, !torch.int -> !torch.int
  return %0 : !torch.int
}
