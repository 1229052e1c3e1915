// Writes the first row of x through a view, and returns two other views of x.
!m = !torch.tensor
func.func @views(%x: !m {tierup.name = "x"}, %row: !m {tierup.name = "row"}) -> (!m, !m) {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %first = torch.aten.select.int %x, %c0, %c0 : !m, !torch.int, !torch.int -> !m
  %u = torch.aten.copy_ %first, %row, %false : !m, !m, !torch.bool -> !m
  %rest = torch.aten.slice.Tensor %x, %c0, %c1, %none, %c1 : !m, !torch.int, !torch.int, !torch.none, !torch.int -> !m
  %turned = torch.aten.transpose.int %x, %c0, %c1 : !m, !torch.int, !torch.int -> !m
  return %rest, %turned : !m, !m
}
