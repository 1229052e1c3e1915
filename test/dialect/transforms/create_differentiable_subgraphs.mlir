// RUN: tierup-opt %s --split-input-file --tierup-create-differentiable-subgraphs --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-create-differentiable-subgraphs --tierup-create-differentiable-subgraphs --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-create-differentiable-subgraphs="threshold=3" | FileCheck %s --check-prefix=THREE

// CHECK-LABEL: func.func @simple_merge
// CHECK-NEXT: [[G:%.+]] = "tierup.differentiable"(%arg0, %arg1) ({
// CHECK-NEXT: ^bb0([[A:%.+]]: !torch.vtensor, [[B:%.+]]: !torch.vtensor):
// CHECK-NEXT: [[C:%.+]] = torch.aten.mul.Tensor [[A]], [[B]]
// CHECK-NEXT: [[D:%.+]] = torch.aten.mul.Tensor [[C]], [[B]]
// CHECK-NEXT: "tierup.yield"([[D]]) : (!torch.vtensor) -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: "tierup.yield"() : () -> ()
// CHECK-NEXT: }) {captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>, real_outputs = 1 : i64, vjp_outputs = array<i64>}
// CHECK-NEXT: return [[G]]
// THREE-LABEL: func.func @simple_merge
// THREE-NOT: tierup.differentiable
// THREE: return
func.func @simple_merge(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %0, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Ops around one that autograd cannot follow: a path leads through it, so there are two groups.
// CHECK-LABEL: func.func @does_not_create_cycles
// CHECK: "tierup.differentiable"(%arg0
// CHECK: torch.aten.detach
// CHECK: "tierup.differentiable"
// CHECK: return
func.func @does_not_create_cycles(%x: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.detach %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %2, %1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
  return %4 : !torch.vtensor
}

// -----
// What depends on nothing in the group moves in front of it; what depends on it, behind.
// CHECK-LABEL: func.func @merges_around_others
// CHECK: [[D:%.+]] = torch.aten.detach %arg1
// CHECK: [[G:%.+]]:2 = "tierup.differentiable"(%arg0, [[D]])
// CHECK: torch.aten.tanh
// CHECK: torch.aten.mul.Tensor
// CHECK: torch.aten.exp
// CHECK: torch.aten.detach [[G]]#0
// CHECK-NOT: "tierup.differentiable"
func.func @merges_around_others(%x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.detach %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.detach %y : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %0, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
  return %4, %1 : !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @respects_lexical_scoping
// CHECK: "tierup.differentiable"(%arg0)
// CHECK: torch.prim.If
// CHECK: "tierup.differentiable"
// CHECK: torch.prim.If.yield
// CHECK: } else {
// CHECK: "tierup.differentiable"
// CHECK: torch.prim.If.yield
// CHECK: torch.prim.Loop
// CHECK: "tierup.differentiable"
// CHECK: torch.prim.Loop.condition
func.func @respects_lexical_scoping(%x: !torch.vtensor, %c: !torch.bool, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.prim.If %c -> (!torch.vtensor) {
    %3 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
    %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    %3 = torch.aten.sin %1 : !torch.vtensor -> !torch.vtensor
    %4 = torch.aten.sin %3 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  }
  %5 = torch.prim.Loop %n, %true, init(%2) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %6 = torch.aten.cos %a : !torch.vtensor -> !torch.vtensor
    %7 = torch.aten.cos %6 : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%7 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %5 : !torch.vtensor
}

// -----
// Memory that is written stays outside, in order: the product reads the row before the write.
// CHECK-LABEL: func.func @merge_respects_aliasing
// CHECK: torch.aten.select.int
// CHECK: torch.aten.mul.Tensor
// CHECK: torch.aten.add_.Tensor
// CHECK: torch.aten.mul.Tensor
// CHECK-NOT: "tierup.differentiable"
func.func @merge_respects_aliasing(%x: !torch.tensor, %y: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.select.int %x, %zero, %zero : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %1 = torch.aten.mul.Tensor %0, %y : !torch.tensor, !torch.tensor -> !torch.tensor
  %2 = torch.aten.add_.Tensor %x, %y, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  %3 = torch.aten.mul.Tensor %0, %y : !torch.tensor, !torch.tensor -> !torch.tensor
  return %1, %3 : !torch.tensor, !torch.tensor
}

// -----
// Values on both sides of a write to memory of its own: the read stays behind the write though the group moves.
// CHECK-LABEL: func.func @reads_of_memory_keep_their_order
// CHECK: torch.aten.add_.Scalar
// CHECK: torch.copy.to_vtensor
// CHECK: "tierup.differentiable"
func.func @reads_of_memory_keep_their_order(%m: !torch.tensor, %x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.add_.Scalar %m, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %2 = torch.copy.to_vtensor %m : !torch.vtensor
  %3 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  return %3, %2 : !torch.vtensor, !torch.vtensor
}

// -----
// A read that waits for the group keeps the write behind it waiting.
// CHECK-LABEL: func.func @read_behind_the_group
// CHECK: "tierup.differentiable"
// CHECK: torch.aten.add.Scalar %arg0
// CHECK: torch.aten.zero_ %arg0
func.func @read_behind_the_group(%m: !torch.tensor, %x: !torch.vtensor) -> (!torch.vtensor, !torch.tensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %n = torch.aten.numel %0 : !torch.vtensor -> !torch.int
  %1 = torch.aten.add.Scalar %m, %n, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %2 = torch.aten.zero_ %m : !torch.tensor -> !torch.tensor
  %3 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  return %3, %1 : !torch.vtensor, !torch.tensor
}

// -----
// A view that only the group uses is in it; one that is handed out with what it views, or views an input, is not.
// CHECK-LABEL: func.func @aliased_outputs
// CHECK: [[G:%.+]]:2 = "tierup.differentiable"
// CHECK: torch.aten.relu
// CHECK: torch.aten.t
// CHECK: torch.aten.exp
// CHECK: "tierup.yield"({{%.+}}, {{%.+}}) : (!torch.vtensor, !torch.vtensor) -> ()
// CHECK: torch.aten.t [[G]]#
// CHECK: torch.aten.t %arg0
// CHECK: return
func.func @aliased_outputs(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.relu %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.t %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.t %0 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.t %x : !torch.vtensor -> !torch.vtensor
  return %0, %2, %3, %4 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Both pieces are handed out, and share what was cut.
// CHECK-LABEL: func.func @pieces_of_one_tensor
// CHECK: "tierup.differentiable"
// CHECK: torch.aten.relu
// CHECK: torch.aten.tanh
// CHECK: "tierup.yield"
// CHECK: "tierup.constant_chunk"
// CHECK: return
func.func @pieces_of_one_tensor(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.relu %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2:2 = "tierup.constant_chunk"(%1) {chunks = 2 : i64, dim = 0 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  return %2#0, %2#1 : !torch.vtensor, !torch.vtensor
}

// -----
// A descendant of a view that is moved out: the groups are formed anew, without it.
// CHECK-LABEL: func.func @alias_with_descendant
// CHECK: [[A:%.+]] = "tierup.differentiable"(%arg0)
// CHECK: torch.aten.relu
// CHECK: torch.aten.relu
// CHECK: "tierup.yield"
// CHECK: [[V:%.+]] = torch.aten.t [[A]]
// CHECK: "tierup.differentiable"([[V]])
// CHECK: torch.aten.exp
// CHECK: torch.aten.exp
func.func @alias_with_descendant(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.relu %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.relu %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.t %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.exp %2 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
  return %1, %2, %4 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Too few: views and scalars do not count. Nothing requires a gradient: integers, comparisons, arguments that say so.
// CHECK-LABEL: func.func @too_few
// CHECK-NOT: "tierup.differentiable"
// CHECK-LABEL: func.func @no_gradient
// CHECK-NOT: "tierup.differentiable"
func.func @too_few(%x: !torch.vtensor) -> !torch.vtensor {
  %0:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = 0 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  %1 = torch.aten.mul.Tensor %0#0, %0#1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.t %1 : !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}
func.func @no_gradient(%x: !torch.vtensor {tierup.requires_grad = false}, %i: !torch.vtensor<[4],si64>, %u: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.neg %i : !torch.vtensor<[4],si64> -> !torch.vtensor
  %3 = torch.aten.abs %2 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.gt.Tensor %u, %u : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %5 = torch.aten.logical_not %4 : !torch.vtensor -> !torch.vtensor
  return %1, %3, %5 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// What profiles saw decides which ops are worth it; profiles of what does come along; constants and lists are copied.
// CHECK-LABEL: func.func @profiled
// CHECK: [[Q:%.+]] = "tierup.profile"(%arg1)
// CHECK: [[T:%.+]] = torch.aten.tanh [[Q]]
// CHECK: "tierup.differentiable"(%arg0, [[T]]) ({
// CHECK: "tierup.profile"({{%.+}}) {profiled = {{.*}}, slot = 0 : i64}
// CHECK: torch.aten.mul.Tensor
// CHECK: "tierup.profile"({{%.+}}) {profiled = {{.*}}, slot = 2 : i64}
// CHECK: torch.prim.ListConstruct
// CHECK: torch.constant.int 0
// CHECK: torch.aten.cat
// CHECK: "tierup.yield"
// CHECK: "tierup.count_run"
func.func @profiled(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%y) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %0, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %4 = "tierup.profile"(%3) {slot = 2 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
  %l = torch.prim.ListConstruct %4, %0 : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %5 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %5 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @raises
// CHECK-NOT: "tierup.differentiable"
func.func @raises(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  // expected-remark@below {{cannot run on operands of these types, so the function stays as it is}}
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// A whole function that is too small stays as it is, constants that nobody uses included.
// CHECK-LABEL: func.func @small_as_a_whole
// THREE-LABEL: func.func @small_as_a_whole
// THREE-NEXT: torch.aten.tanh
// THREE-NEXT: torch.constant.int 1
// THREE-NEXT: torch.constant.int 2
// THREE-NEXT: torch.aten.add.Scalar
// THREE-NEXT: return
func.func @small_as_a_whole(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %1 = torch.aten.add.Scalar %0, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// What groups and fallbacks of other passes hold is theirs.
// CHECK-LABEL: func.func @not_in_a_fallback
// CHECK-NOT: tierup.differentiable
// CHECK: "tierup.fallback"
// CHECK-NOT: tierup.differentiable
// CHECK: return
func.func @not_in_a_fallback(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.fallback"(%x) ({
  ^bb0(%a: !torch.vtensor):
    %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2) : (!torch.vtensor) -> ()
  }, {}) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// Who reads a list that somebody writes stays outside: backward would read the list as it is then.
// CHECK-LABEL: func.func @written_list
// CHECK: %[[L:.*]] = torch.prim.ListConstruct
// CHECK: "tierup.differentiable"(%arg0)
// CHECK: torch.aten.reshape %{{.*}}, %[[L]]
// CHECK: "tierup.differentiable"(%{{[0-9]+}})
// CHECK: torch.aten._set_item.t %[[L]]
func.func @written_list(%x: !torch.vtensor {tierup.requires_grad = true}, %a: !torch.int, %b: !torch.int) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.reshape %1, %l : !torch.vtensor, !torch.list<int> -> !torch.vtensor
  %3 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
  %5 = torch.aten._set_item.t %l, %zero, %b : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  return %4 : !torch.vtensor
}
