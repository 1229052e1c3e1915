// A step of softmax regression: writes the weights in place, returns the mean loss before the step.
!m = !torch.tensor
func.func @sgd_step(%x: !m {tierup.name = "x"}, %target: !m {tierup.name = "target"}, %w: !m {tierup.name = "w"},
                    %b: !m {tierup.name = "b"}, %rate: !torch.float {tierup.name = "rate"}) -> !m {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %m1 = torch.constant.int -1
  %c0 = torch.constant.int 0
  %c1 = torch.constant.int 1
  %logits = torch.aten.addmm %b, %x, %w, %c1, %c1 : !m, !m, !m, !torch.int, !torch.int -> !m
  %logp = torch.aten.log_softmax.int %logits, %m1, %none : !m, !torch.int, !torch.none -> !m
  %weighted = torch.aten.mul.Tensor %logp, %target : !m, !m -> !m
  %dims = torch.prim.ListConstruct %m1 : (!torch.int) -> !torch.list<int>
  %each = torch.aten.sum.dim_IntList %weighted, %dims, %false, %none : !m, !torch.list<int>, !torch.bool, !torch.none -> !m
  %mean = torch.aten.mean %each, %none : !m, !torch.none -> !m
  %loss = torch.aten.neg %mean : !m -> !m
  %p = torch.aten.exp %logp : !m -> !m
  %difference = torch.aten.sub.Tensor %p, %target, %c1 : !m, !m, !torch.int -> !m
  %n = torch.aten.size.int %x, %c0 : !m, !torch.int -> !torch.int
  %g = torch.aten.div.Scalar %difference, %n : !m, !torch.int -> !m
  %xt = torch.aten.t %x : !m -> !m
  %gw = torch.aten.mm %xt, %g : !m, !m -> !m
  %rows = torch.prim.ListConstruct %c0 : (!torch.int) -> !torch.list<int>
  %gb = torch.aten.sum.dim_IntList %g, %rows, %false, %none : !m, !torch.list<int>, !torch.bool, !torch.none -> !m
  %u0 = torch.aten.sub_.Tensor %w, %gw, %rate : !m, !m, !torch.float -> !m
  %u1 = torch.aten.sub_.Tensor %b, %gb, %rate : !m, !m, !torch.float -> !m
  return %loss : !m
}
