// Newton's iteration for the square root of each element, until the largest step is below `tolerance` (or `limit` steps).
!t = !torch.vtensor
func.func @newton_sqrt(%x: !t {tierup.name = "x"}, %tolerance: !torch.float {tierup.name = "tolerance"},
                       %limit: !torch.int {tierup.name = "limit"}) -> (!t, !torch.int) {
  %true = torch.constant.bool true
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %half = torch.constant.float 5.000000e-01
  %r:2 = torch.prim.Loop %limit, %true, init(%x, %c0) {
  ^bb0(%i: !torch.int, %guess: !t, %steps: !torch.int):
    %quotient = torch.aten.div.Tensor %x, %guess : !t, !t -> !t
    %sum = torch.aten.add.Tensor %guess, %quotient, %c1 : !t, !t, !torch.int -> !t
    %next = torch.aten.mul.Scalar %sum, %half : !t, !torch.float -> !t
    %delta = torch.aten.sub.Tensor %next, %guess, %c1 : !t, !t, !torch.int -> !t
    %size = torch.aten.abs %delta : !t -> !t
    %largest = torch.aten.max %size : !t -> !t
    %error = torch.aten.Float.Tensor %largest : !t -> !torch.float
    %more = torch.aten.gt.float %error, %tolerance : !torch.float, !torch.float -> !torch.bool
    %count = torch.aten.add.int %steps, %c1 : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %more, iter(%next, %count : !t, !torch.int)
  } : (!torch.int, !torch.bool, !t, !torch.int) -> (!t, !torch.int)
  return %r#0, %r#1 : !t, !torch.int
}
