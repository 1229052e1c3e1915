// Three ways, chosen by numbers computed from x.
!v = !torch.vtensor<[?],f32>
!s = !torch.vtensor<[],f32>
func.func @branches(%x: !v {tierup.name = "x"}, %limit: !torch.float {tierup.name = "limit"}) -> (!v, !s) {
  %none = torch.constant.none
  %zero = torch.constant.float 0.000000e+00
  %sum = torch.aten.sum %x, %none : !v, !torch.none -> !s
  %total = torch.aten.Float.Tensor %sum : !s -> !torch.float
  %large = torch.aten.gt.float %total, %limit : !torch.float, !torch.float -> !torch.bool
  %y = torch.prim.If %large -> (!v) {
    %n = torch.aten.neg %x : !v -> !v
    %e = torch.aten.exp %n : !v -> !v
    torch.prim.If.yield %e : !v
  } else {
    %max = torch.aten.max %x : !v -> !s
    %top = torch.aten.Float.Tensor %max : !s -> !torch.float
    %positive = torch.aten.gt.float %top, %zero : !torch.float, !torch.float -> !torch.bool
    %z = torch.prim.If %positive -> (!v) {
      %c = torch.aten.clamp %x, %limit, %none : !v, !torch.float, !torch.none -> !v
      torch.prim.If.yield %c : !v
    } else {
      %n = torch.aten.neg %x : !v -> !v
      torch.prim.If.yield %n : !v
    }
    torch.prim.If.yield %z : !v
  }
  %mean = torch.aten.mean %y, %none : !v, !torch.none -> !s
  return %y, %mean : !v, !s
}
