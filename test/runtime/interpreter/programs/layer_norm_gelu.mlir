// gelu(layer_norm(x) * scale + shift), then the mean over the last dimension.
!t = !torch.vtensor<[?,?],f32>
!v = !torch.vtensor<[?],f32>
func.func @layer_norm_gelu(%x: !t {tierup.name = "x"}, %scale: !v {tierup.name = "scale"}, %shift: !v {tierup.name = "shift"}) -> (!t, !v) {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %tanh = torch.constant.str "tanh"
  %eps = torch.constant.float 1.000000e-05
  %m1 = torch.constant.int -1
  %width = torch.aten.size.int %x, %m1 : !t, !torch.int -> !torch.int
  %shape = torch.prim.ListConstruct %width : (!torch.int) -> !torch.list<int>
  %norm = torch.aten.layer_norm %x, %shape, %scale, %shift, %eps, %false : !t, !torch.list<int>, !v, !v, !torch.float, !torch.bool -> !t
  %y = torch.aten.gelu %norm, %tanh : !t, !torch.str -> !t
  %dims = torch.prim.ListConstruct %m1 : (!torch.int) -> !torch.list<int>
  %mean = torch.aten.mean.dim %y, %dims, %false, %none : !t, !torch.list<int>, !torch.bool, !torch.none -> !v
  return %y, %mean : !t, !v
}
