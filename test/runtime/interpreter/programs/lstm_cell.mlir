// One step of an LSTM; the gates stand in the order i, f, g, o.
!t = !torch.vtensor<[?,?],f32>
func.func @lstm_cell(%x: !t {tierup.name = "x"}, %h: !t {tierup.name = "h"}, %c: !t {tierup.name = "c"},
                     %wi: !t {tierup.name = "w_ih"}, %wh: !t {tierup.name = "w_hh"},
                     %b: !torch.vtensor<[?],f32> {tierup.name = "bias"}) -> (!t, !t) {
  %none = torch.constant.none
  %c1 = torch.constant.int 1
  %c4 = torch.constant.int 4
  %0 = torch.aten.linear %x, %wi, %b : !t, !t, !torch.vtensor<[?],f32> -> !t
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
