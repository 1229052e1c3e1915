// Something for each clean-up: a call, a gradient, an implicit expand, a constant of rank 0, dead ops, constants to fold, equal ops, a
// product by 1, a tuple, a list that is filled, a loop of two rounds.
func.func private @leaf(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}
func.func @main(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[4],f32>, %g: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %two = torch.vtensor.literal(dense<2.0> : tensor<f32>) : !torch.vtensor<[],f32>
  %0 = call @leaf(%x) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32>
  %sizes = torch.prim.ListConstruct %int2, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.expand %b, %sizes, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %3 = torch.aten.mul.Tensor %2, %two : !torch.vtensor<[2,4],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[2,4],f32>
  %dead = torch.aten.exp %3 : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %4 = torch.aten.sigmoid %3 : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %5 = torch.aten.sigmoid %3 : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %6 = torch.aten.mul.Scalar %5, %int1 : !torch.vtensor<[2,4],f32>, !torch.int -> !torch.vtensor<[2,4],f32>
  %rounds = torch.aten.add.int %int1, %int1 : !torch.int, !torch.int -> !torch.int
  %7 = torch.prim.Loop %rounds, %true, init(%6) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[2,4],f32>):
    %8 = torch.aten.sin %a : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
    torch.prim.Loop.condition %true, iter(%8 : !torch.vtensor<[2,4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32>
  %list = torch.prim.ListConstruct %4 : (!torch.vtensor<[2,4],f32>) -> !torch.list<vtensor<[2,4],f32>>
  %9 = torch.aten.append.t %list, %7 : !torch.list<vtensor<[2,4],f32>>, !torch.vtensor<[2,4],f32> -> !torch.list<vtensor<[2,4],f32>>
  %10 = torch.aten.cat %list, %int0 : !torch.list<vtensor<[2,4],f32>>, !torch.int -> !torch.vtensor<[4,4],f32>
  %11 = "tierup.grad_of"(%g) ({
    %12 = torch.aten.neg %g : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%12) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.neg"} : (!torch.vtensor) -> !torch.vtensor
  %13 = torch.prim.TupleConstruct %10, %11 : !torch.vtensor<[4,4],f32>, !torch.vtensor -> !torch.tuple<vtensor<[4,4],f32>, vtensor>
  %14:2 = torch.prim.TupleUnpack %13 : !torch.tuple<vtensor<[4,4],f32>, vtensor> -> !torch.vtensor, !torch.vtensor
  return %14#0, %14#1 : !torch.vtensor, !torch.vtensor
}
