// x[i] += x[i - 1] for each row from the second on: reads what the iteration before wrote, through views.
!m = !torch.tensor
func.func @cumulative_rows(%x: !m {tierup.name = "x"}) -> !m {
  %true = torch.constant.bool true
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %rows = torch.aten.size.int %x, %c0 : !m, !torch.int -> !torch.int
  %n = torch.aten.sub.int %rows, %c1 : !torch.int, !torch.int -> !torch.int
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    %j = torch.aten.add.int %i, %c1 : !torch.int, !torch.int -> !torch.int
    %before = torch.aten.select.int %x, %c0, %i : !m, !torch.int, !torch.int -> !m
    %row = torch.aten.select.int %x, %c0, %j : !m, !torch.int, !torch.int -> !m
    %u = torch.aten.add_.Tensor %row, %before, %c1 : !m, !m, !torch.int -> !m
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  return %x : !m
}
