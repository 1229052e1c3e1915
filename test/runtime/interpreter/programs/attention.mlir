// Scaled dot-product attention of (batch, length, width) tensors, causal or not.
!t = !torch.vtensor<[?,?,?],f32>
func.func @attention(%q: !t {tierup.name = "q"}, %k: !t {tierup.name = "k"}, %v: !t {tierup.name = "v"},
                     %causal: !torch.bool {tierup.name = "causal"}) -> !t {
  %none = torch.constant.none
  %m1 = torch.constant.int -1
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %c2 = torch.constant.int 2
  %minus_inf = torch.constant.float 0xFFF0000000000000
  %kt = torch.aten.transpose.int %k, %c1, %c2 : !t, !torch.int, !torch.int -> !t
  %raw = torch.aten.bmm %q, %kt : !t, !t -> !t
  %width = torch.aten.size.int %q, %m1 : !t, !torch.int -> !torch.int
  %root = torch.aten.sqrt.int %width : !torch.int -> !torch.float
  %scores = torch.aten.div.Scalar %raw, %root : !t, !torch.float -> !t
  %masked = torch.prim.If %causal -> (!t) {
    %ones = torch.aten.ones_like %scores, %none, %none, %none, %none, %none : !t, !torch.none, !torch.none, !torch.none, !torch.none, !torch.none -> !t
    %upper = torch.aten.triu %ones, %c1 : !t, !torch.int -> !t
    %mask = torch.aten.ne.Scalar %upper, %c0 : !t, !torch.int -> !torch.vtensor<[?,?,?],i1>
    %filled = torch.aten.masked_fill.Scalar %scores, %mask, %minus_inf : !t, !torch.vtensor<[?,?,?],i1>, !torch.float -> !t
    torch.prim.If.yield %filled : !t
  } else {
    torch.prim.If.yield %scores : !t
  }
  %weights = torch.aten.softmax.int %masked, %m1, %none : !t, !torch.int, !torch.none -> !t
  %out = torch.aten.bmm %weights, %v : !t, !t -> !t
  return %out : !t
}
