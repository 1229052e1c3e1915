// The largest eigenvalue of a symmetric matrix by power iteration.
!t = !torch.vtensor
func.func @power_iteration(%a: !t {tierup.name = "a"}, %v0: !t {tierup.name = "v0"}, %steps: !torch.int {tierup.name = "steps"}) -> (!t, !t) {
  %true = torch.constant.bool true
  %none = torch.constant.none
  %v = torch.prim.Loop %steps, %true, init(%v0) {
  ^bb0(%i: !torch.int, %v: !t):
    %w = torch.aten.mv %a, %v : !t, !t -> !t
    %ww = torch.aten.dot %w, %w : !t, !t -> !t
    %norm = torch.aten.sqrt %ww : !t -> !t
    %next = torch.aten.div.Tensor %w, %norm : !t, !t -> !t
    torch.prim.Loop.condition %true, iter(%next : !t)
  } : (!torch.int, !torch.bool, !t) -> !t
  %av = torch.aten.mv %a, %v : !t, !t -> !t
  %value = torch.aten.dot %v, %av : !t, !t -> !t
  return %value, %v : !t, !t
}
