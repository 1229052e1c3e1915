// Recorded at each use, one run: %c was true, so of the second arm nothing is known. The loop has two rounds, the list is filled.
func.func @main(%x: !torch.vtensor, %w: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %x0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[2,4] strides=[4,1] device=cpu requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %w0 = "tierup.profile"(%w) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] strides=[1] device=cpu requires_grad=true defined>} : (!torch.vtensor) -> !torch.vtensor
  %0 = torch.aten.mul.Tensor %x0, %w0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = "tierup.profile"(%0) {slot = 2 : i64, profiled = #tierup.profiled<f32[2,4] strides=[4,1] device=cpu requires_grad=true defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.prim.If %c -> (!torch.vtensor) {
    %4 = "tierup.profile"(%2) {slot = 3 : i64, profiled = #tierup.profiled<f32[2,4] strides=[4,1] device=cpu requires_grad=true defined>} : (!torch.vtensor) -> !torch.vtensor
    %5 = torch.aten.exp %4 : !torch.vtensor -> !torch.vtensor
    %6 = torch.aten.sin %5 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %6 : !torch.vtensor
  } else {
    %4 = "tierup.profile"(%2) {slot = 4 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  }
  %7 = torch.prim.Loop %int2, %true, init(%3) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %8 = "tierup.profile"(%a) {slot = 5 : i64, profiled = #tierup.profiled<f32[2,4] strides=[4,1] device=cpu requires_grad=true defined>} : (!torch.vtensor) -> !torch.vtensor
    %9 = torch.aten.cos %8 : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%9 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %list = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %10 = torch.aten.append.t %list, %7 : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  %11 = torch.aten.cat %list, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %12 = torch.prim.TupleConstruct %11, %7 : !torch.vtensor, !torch.vtensor -> !torch.tuple<vtensor, vtensor>
  %13:2 = torch.prim.TupleUnpack %12 : !torch.tuple<vtensor, vtensor> -> !torch.vtensor, !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %13#0, %13#1 : !torch.vtensor, !torch.vtensor
}
