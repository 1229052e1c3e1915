// RUN: tierup-opt %s --canonicalize --split-input-file --verify-diagnostics

func.func @of_no_meaning(%x: !torch.vtensor<[1,2,6,6],f32>, %w: !torch.vtensor<[2,2,3,3],f32>) -> !torch.vtensor {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %1 = torch.constant.int 1
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %empty = torch.prim.ListConstruct : () -> !torch.list<int>
  // expected-error@below {{has an empty list for stride, padding or dilation}}
  %c = torch.aten.convolution %x, %w, %none, %empty, %ones, %ones, %false, %empty, %1 : !torch.vtensor<[1,2,6,6],f32>, !torch.vtensor<[2,2,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor
  return %c : !torch.vtensor
}

// -----
func.func @division_by_zero(%n: !torch.int) -> !torch.int {
  %0 = torch.constant.int 0
  %7 = torch.constant.int 7
  // expected-error@below {{divides by the constant 0, which MLIR's canonicalization does not survive}}
  %q = torch.aten.remainder.int %7, %0 : !torch.int, !torch.int -> !torch.int
  return %q : !torch.int
}
