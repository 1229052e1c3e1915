// Whole numbers and masks: floor division, remainders of what is negative, a sum in 64 bits, any over a dim.
!i = !torch.vtensor<[?,?],si32>
!b = !torch.vtensor<[?,?],i1>
func.func @integers(%x: !i {tierup.name = "x"}, %mask: !b {tierup.name = "mask"}, %k: !torch.int {tierup.name = "k"})
    -> (!i, !torch.vtensor<[],si64>, !torch.vtensor<[?],i1>) {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %c1 = torch.constant.int 1
  %c2 = torch.constant.int 2
  %product = torch.aten.mul.Scalar %x, %k : !i, !torch.int -> !i
  %half = torch.aten.floor_divide.Scalar %x, %c2 : !i, !torch.int -> !i
  %c3 = torch.constant.int 3
  %minus = torch.constant.int -7
  %two = torch.aten.remainder.int %minus, %c3 : !torch.int, !torch.int -> !torch.int
  %three = torch.aten.remainder.int %minus, %k : !torch.int, !torch.int -> !torch.int
  %five = torch.aten.add.int %two, %three : !torch.int, !torch.int -> !torch.int
  %more = torch.aten.add.Scalar %half, %five, %c1 : !i, !torch.int, !torch.int -> !i
  %y = torch.aten.where.self %mask, %product, %more : !b, !i, !i -> !i
  %sum = torch.aten.sum %y, %none : !i, !torch.none -> !torch.vtensor<[],si64>
  %greater = torch.aten.gt.Tensor %y, %x : !i, !i -> !b
  %any = torch.aten.any.dim %greater, %c1, %false : !b, !torch.int, !torch.bool -> !torch.vtensor<[?],i1>
  return %y, %sum, %any : !i, !torch.vtensor<[],si64>, !torch.vtensor<[?],i1>
}
