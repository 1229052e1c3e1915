// An LSTM over a sequence: the rows of x, one cell step each; the hidden states are collected in a list and stacked.
!t = !torch.vtensor
func.func @lstm(%x: !t {tierup.name = "x"}, %h0: !t {tierup.name = "h0"}, %c0_: !t {tierup.name = "c0"},
                %wi: !t {tierup.name = "w_ih"}, %wh: !t {tierup.name = "w_hh"}, %b: !t {tierup.name = "bias"}) -> (!t, !t) {
  %true = torch.constant.bool true
  %c0 = torch.constant.int 0
  %steps = torch.aten.size.int %x, %c0 : !t, !torch.int -> !torch.int
  %outputs = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %last:2 = torch.prim.Loop %steps, %true, init(%h0, %c0_) {
  ^bb0(%i: !torch.int, %h: !t, %c: !t):
    %row = torch.aten.select.int %x, %c0, %i : !t, !torch.int, !torch.int -> !t
    %next:2 = func.call @cell(%row, %h, %c, %wi, %wh, %b) : (!t, !t, !t, !t, !t, !t) -> (!t, !t)
    %u = torch.aten.append.t %outputs, %next#0 : !torch.list<vtensor>, !t -> !torch.list<vtensor>
    torch.prim.Loop.condition %true, iter(%next#0, %next#1 : !t, !t)
  } : (!torch.int, !torch.bool, !t, !t) -> (!t, !t)
  %all = torch.aten.stack %outputs, %c0 : !torch.list<vtensor>, !torch.int -> !t
  return %all, %last#1 : !t, !t
}
func.func private @cell(%x: !t, %h: !t, %c: !t, %wi: !t, %wh: !t, %b: !t) -> (!t, !t) {
  %none = torch.constant.none
  %c1 = torch.constant.int 1
  %c4 = torch.constant.int 4
  %0 = torch.aten.linear %x, %wi, %b : !t, !t, !t -> !t
  %1 = torch.aten.linear %h, %wh, %none : !t, !t, !torch.none -> !t
  %gates = torch.aten.add.Tensor %0, %1, %c1 : !t, !t, !torch.int -> !t
  %parts = torch.aten.chunk %gates, %c4, %c1 : !t, !torch.int, !torch.int -> !torch.list<vtensor>
  %p:4 = torch.prim.ListUnpack %parts : !torch.list<vtensor> -> !t, !t, !t, !t
  %i = torch.aten.sigmoid %p#0 : !t -> !t
  %f = torch.aten.sigmoid %p#1 : !t -> !t
  %g = torch.aten.tanh %p#2 : !t -> !t
  %o = torch.aten.sigmoid %p#3 : !t -> !t
  %keep = torch.aten.mul.Tensor %f, %c : !t, !t -> !t
  %new = torch.aten.mul.Tensor %i, %g : !t, !t -> !t
  %c_next = torch.aten.add.Tensor %keep, %new, %c1 : !t, !t, !torch.int -> !t
  %squashed = torch.aten.tanh %c_next : !t -> !t
  %h_next = torch.aten.mul.Tensor %o, %squashed : !t, !t -> !t
  return %h_next, %c_next : !t, !t
}
