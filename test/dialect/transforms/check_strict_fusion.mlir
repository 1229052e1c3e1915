// RUN: tierup-opt %s --split-input-file --tierup-check-strict-fusion --verify-diagnostics
// RUN: tierup-opt %s --split-input-file --pass-pipeline="builtin.module(tierup-check-strict-fusion{single=true})" --verify-diagnostics

!t = !torch.vtensor<[4],f32>

// All is in the group, but for a view, a number, constants, and a list.
func.func @fused(%x: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.int) {
  %zero = torch.constant.int 0
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %2 = torch.aten.tanh %a : !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  %1 = torch.aten.t %0 : !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
  %n = torch.aten.size.int %1, %zero : !torch.vtensor<[2,2],f32>, !torch.int -> !torch.int
  %l = torch.prim.ListConstruct %n, %n : (!torch.int, !torch.int) -> !torch.list<int>
  return %1, %n : !torch.vtensor<[2,2],f32>, !torch.int
}

// -----
!t = !torch.vtensor
// A check decides the branch, its other arm is the fallback; a function that was a fallback may hold anything.
func.func @checked(%x: !t) -> !t {
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!t) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %w, %same = "tierup.check_requires_grad"(%x) {requires_grad = [false]} : (!t) -> (!t, !torch.bool)
  %both = torch.aten.__and__.bool %ok, %same : !torch.bool, !torch.bool -> !torch.bool
  %0 = torch.prim.If %both -> (!t) {
    %1 = "tierup.fusion_group"(%v) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      %2 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      "tierup.yield"(%2) : (!torch.vtensor<[4],f32>) -> ()
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    %3 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !t
    torch.prim.If.yield %3 : !t
  } else {
    %1 = torch.prim.If %ok -> (!t) {
      %2 = func.call @twin(%x) : (!t) -> !t
      torch.prim.If.yield %2 : !t
    } else {
      %2 = "tierup.fallback"(%x) ({
      ^bb0(%a: !t):
        %3 = torch.aten.tanh %a : !t -> !t
        "tierup.yield"(%3) : (!t) -> ()
      }, {}) : (!t) -> !t
      torch.prim.If.yield %2 : !t
    }
    torch.prim.If.yield %1 : !t
  }
  return %0 : !t
}
func.func private @twin(%x: !t) -> !t attributes {tierup.fallback} {
  %0 = torch.aten.tanh %x : !t -> !t
  return %0 : !t
}
func.func private @rest(%x: !t) -> !t attributes {tierup.continuation} {
  %0 = torch.aten.tanh %x : !t -> !t
  return %0 : !t
}

// -----
!t = !torch.vtensor
// Every op is named, in branches and loops too.
func.func @left_out(%x: !t, %y: !torch.tensor, %c: !torch.bool, %n: !torch.int) -> (!t, !t, !t, !torch.tensor) {
  %dim = torch.constant.int 0
  %true = torch.constant.bool true
  // expected-error@below {{'torch.aten.sort' op is left out of fusion: it has no native code}}
  %0, %order = torch.aten.sort %x, %dim, %true : !t, !torch.int, !torch.bool -> !t, !t
  // expected-error@below {{'torch.aten.tanh' op is left out of fusion: it has native code, but not for these types, or too few ops}}
  %1 = torch.aten.tanh %x : !t -> !t
  // expected-error@below {{'torch.aten.relu_' op is left out of fusion: it writes its operand}}
  %2 = torch.aten.relu_ %y : !torch.tensor -> !torch.tensor
  // expected-error@below {{'torch.prim.If' op is left out of fusion: not all in it is in one group}}
  %3 = torch.prim.If %c -> (!t) {
    // expected-error@below {{'torch.prim.Loop' op is left out of fusion: not all in it is in one group}}
    %4 = torch.prim.Loop %n, %true, init(%x) {
    ^bb0(%i: !torch.int, %a: !t):
      // expected-error@below {{'torch.aten.mm' op is left out of fusion}}
      %5 = torch.aten.mm %a, %a : !t, !t -> !t
      torch.prim.Loop.condition %true, iter(%5 : !t)
    } : (!torch.int, !torch.bool, !t) -> !t
    torch.prim.If.yield %4 : !t
  } else {
    // expected-error@below {{'func.call' op is left out of fusion: it is a call, which no group holds; inline it}}
    %4 = func.call @other(%x) : (!t) -> !t
    torch.prim.If.yield %4 : !t
  }
  return %0, %1, %3, %2 : !t, !t, !t, !torch.tensor
}
func.func private @other(%x: !t) -> !t {
  // expected-error@below {{'tierup.batched_mm_tree' op is left out of fusion: it has no native code}}
  %0 = "tierup.batched_mm_tree"(%x, %x) : (!t, !t) -> !t
  return %0 : !t
}

// -----
!t = !torch.vtensor
// The user's own question beside a check: the branch is the user's too.
func.func @check_and_more(%x: !t, %c: !torch.bool) -> !t {
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!t) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %both = torch.aten.__and__.bool %ok, %c : !torch.bool, !torch.bool -> !torch.bool
  // expected-error@below {{'torch.prim.If' op is left out of fusion: not all in it is in one group}}
  %0 = torch.prim.If %both -> (!t) {
    %w = torch.tensor_static_info_cast %v : !torch.vtensor<[4],f32> to !t
    torch.prim.If.yield %w : !t
  } else {
    torch.prim.If.yield %x : !t
  }
  return %0 : !t
}
