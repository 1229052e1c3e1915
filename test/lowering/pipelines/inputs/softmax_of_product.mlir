// softmax(x @ w.T), a number, and a check: a product, a reduction, a boundary, an error site. Sizes of x are known at run time only.
func.func @main(%x: !torch.vtensor<[?,8],f32>, %w: !torch.vtensor<[16,8],f32>, %i: !torch.int) -> (!torch.vtensor<[?,16],f32>, !torch.int) attributes {tierup.result_kinds = ["buffer", "scalar"], torch.assume_strict_symbolic_shapes} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %ok = torch.aten.ge.int %i, %int0 : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %ok, "index out of range"
  %t = torch.aten.transpose.int %w, %int0, %int1 : !torch.vtensor<[16,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[8,16],f32>
  %p = torch.aten.mm %x, %t : !torch.vtensor<[?,8],f32>, !torch.vtensor<[8,16],f32> -> !torch.vtensor<[?,16],f32>
  %s = torch.aten.softmax.int %p, %int1, %none : !torch.vtensor<[?,16],f32>, !torch.int, !torch.none -> !torch.vtensor<[?,16],f32>
  %n = torch.aten.add.int %i, %int1 : !torch.int, !torch.int -> !torch.int
  return %s, %n : !torch.vtensor<[?,16],f32>, !torch.int
}
