// RUN: tierup-opt %s --tierup-dce --split-input-file | FileCheck %s --check-prefixes=CHECK,KEEP
// RUN: tierup-opt %s --tierup-dce --tierup-dce --split-input-file | FileCheck %s --check-prefixes=CHECK,KEEP
// RUN: tierup-opt %s --tierup-dce=drop-errors=true --split-input-file | FileCheck %s --check-prefixes=CHECK,DROP

// CHECK-LABEL: func.func @unused_ops_go
// CHECK-NEXT: return
func.func @unused_ops_go(%x: !torch.vtensor, %m: !torch.tensor, %n: !torch.int) {
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.exp %m : !torch.tensor -> !torch.tensor
  %3 = torch.aten.size %x : !torch.vtensor -> !torch.list<int>
  %4 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
  %5 = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  return
}

// -----
// An error is a result.
// CHECK-LABEL: func.func @what_may_raise_stays
func.func @what_may_raise_stays(%x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int, %l: !torch.list<int>) {
  %one = torch.constant.int 1
  // DROP-NEXT: return
  // KEEP: torch.aten.add.Tensor
  %0 = torch.aten.add.Tensor %x, %y, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  // KEEP: torch.aten.t
  %1 = torch.aten.t %x : !torch.vtensor -> !torch.vtensor
  // KEEP: torch.aten.item
  %2 = torch.aten.item %x : !torch.vtensor -> !torch.number
  // KEEP: torch.aten.floordiv.int
  %3 = torch.aten.floordiv.int %one, %n : !torch.int, !torch.int -> !torch.int
  // KEEP: torch.aten.__getitem__.t
  %4 = torch.aten.__getitem__.t %l, %one : !torch.list<int>, !torch.int -> !torch.int
  // KEEP: torch.aten.bitwise_not
  %5 = torch.aten.bitwise_not %x : !torch.vtensor -> !torch.vtensor
  // KEEP: torch.aten.softmax.int
  %none = torch.constant.none
  %6 = torch.aten.softmax.int %x, %n, %none : !torch.vtensor, !torch.int, !torch.none -> !torch.vtensor
  // KEEP: torch.tensor_static_info_cast
  %7 = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[2],f32>
  // KEEP: torch.aten.view
  %8 = torch.aten.view %7, %l : !torch.vtensor<[2],f32>, !torch.list<int> -> !torch.vtensor
  return
}

// -----
// Types that fit say that it does not raise.
// CHECK-LABEL: func.func @what_types_clear_goes
// CHECK-NEXT: return
func.func @what_types_clear_goes(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[3],f32>) {
  %one = torch.constant.int 1
  %none = torch.constant.none
  %0 = torch.aten.add.Tensor %x, %y, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor
  %1 = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
  %2 = torch.aten.select.int %x, %one, %one : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.vtensor
  %3 = torch.aten.softmax.int %1, %one, %none : !torch.vtensor, !torch.int, !torch.none -> !torch.vtensor
  %4 = torch.aten.floordiv.int %one, %one : !torch.int, !torch.int -> !torch.int
  %5 = torch.prim.ListConstruct %x, %x : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  %6 = torch.aten.cat %5, %one : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return
}

// -----
// Types that do not fit, and sizes that only may.
// CHECK-LABEL: func.func @what_types_condemn_stays
func.func @what_types_condemn_stays(%x: !torch.vtensor<[2,3],f32>) {
  %seven = torch.constant.int 7
  // KEEP: torch.aten.select.int
  %0 = torch.aten.select.int %x, %seven, %seven : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.vtensor
  return
}

// -----
// CHECK-LABEL: func.func @what_types_condemn_under_numpys_rules_stays
func.func @what_types_condemn_under_numpys_rules_stays(%x: !torch.vtensor<[2,3],f32>) {
  %one = torch.constant.int 1
  // KEEP: torch.aten.squeeze.dim
  %0 = torch.aten.squeeze.dim %x, %one {tierup.promotion = "numpy"} : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  return
}

// -----
// CHECK-LABEL: func.func @what_types_leave_open_stays
func.func @what_types_leave_open_stays(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[?],f32>, %n: !torch.int, %s: !torch.str, %z: !torch.vtensor) {
  // DROP-NEXT: return
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %six = torch.constant.int 6
  %f = torch.constant.float -1.0
  // KEEP: torch.aten.add.Tensor
  %1 = torch.aten.add.Tensor %x, %y, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[?],f32>, !torch.int -> !torch.vtensor
  // Whether a view is possible strides decide.
  // KEEP: torch.aten.view
  %l = torch.prim.ListConstruct %six : (!torch.int) -> !torch.list<int>
  %2 = torch.aten.view %x, %l : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor
  // KEEP: torch.aten.pow.int_float
  %3 = torch.aten.pow.int_float %n, %f : !torch.int, !torch.float -> !torch.float
  // KEEP: torch.aten.Float.str
  %4 = torch.aten.Float.str %s : !torch.str -> !torch.float
  // NumPy's rules raise where torch's do not.
  // KEEP: torch.aten.div.int %{{.*}} {tierup.promotion = "numpy"}
  %5 = torch.aten.div.int %n, %n {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.float
  %6 = torch.aten.div.int %n, %n : !torch.int, !torch.int -> !torch.float
  %8 = torch.aten.squeeze.dim %x, %one : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor
  // KEEP-NEXT: torch.aten.squeeze.dim %{{.*}} {tierup.promotion = "numpy"} : !torch.vtensor,
  %9 = torch.aten.squeeze.dim %z, %zero {tierup.promotion = "numpy"} : !torch.vtensor, !torch.int -> !torch.vtensor
  %10 = torch.aten.squeeze.dim %z, %zero : !torch.vtensor, !torch.int -> !torch.vtensor
  // A cast to more than is known checks it; one to less does not.
  // KEEP-NEXT: torch.tensor_static_info_cast %{{.*}} : !torch.vtensor to !torch.vtensor<[2],f32>
  // KEEP-NEXT: return
  %11 = torch.tensor_static_info_cast %z : !torch.vtensor to !torch.vtensor<[2],f32>
  %12 = torch.tensor_static_info_cast %x : !torch.vtensor<[2,3],f32> to !torch.vtensor
  return
}

// -----
// CHECK-LABEL: func.func @explicit_raises_and_records_stay
func.func @explicit_raises_and_records_stay(%c: !torch.bool, %x: !torch.vtensor) {
  // CHECK: torch.runtime.assert
  torch.runtime.assert %c, "no"
  // CHECK: tierup.profile
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // CHECK: tierup.count_run
  "tierup.count_run"() : () -> ()
  return
}

// -----
// A write is as live as the memory it writes.
// CHECK-LABEL: func.func @writes
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.tensor
func.func @writes(%x: !torch.tensor<[4],f32>) -> !torch.tensor<[4],f32> {
  %zero = torch.constant.int 0
  %f = torch.constant.float 1.0
  // CHECK-NOT: torch.aten.tanh
  %t = torch.aten.tanh %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  %dead = torch.aten.zero_ %t : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: %[[E:.*]] = torch.aten.exp
  %e = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: %[[ROW:.*]] = torch.aten.select.int %[[E]]
  %row = torch.aten.select.int %e, %zero, %zero : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor<[],f32>
  // CHECK: torch.aten.zero_ %[[ROW]]
  %live = torch.aten.zero_ %row : !torch.tensor<[],f32> -> !torch.tensor<[],f32>
  // CHECK: %[[V:.*]] = torch.aten.select.int %[[X]]
  %v = torch.aten.select.int %x, %zero, %zero : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor<[],f32>
  // CHECK: torch.aten.fill_.Scalar %[[V]]
  %seen = torch.aten.fill_.Scalar %v, %f : !torch.tensor<[],f32>, !torch.float -> !torch.tensor<[],f32>
  // CHECK: return %[[E]]
  return %e : !torch.tensor<[4],f32>
}

// -----
// What is put into a list that is returned is returned.
// CHECK-LABEL: func.func @lists
func.func @lists(%x: !torch.tensor<[4],f32>) -> !torch.list<tensor> {
  // CHECK: %[[T:.*]] = torch.aten.tanh
  %t = torch.aten.tanh %x : !torch.tensor<[4],f32> -> !torch.tensor
  // CHECK: %[[L:.*]] = torch.prim.ListConstruct
  %l = torch.prim.ListConstruct : () -> !torch.list<tensor>
  // CHECK-NOT: torch.prim.ListConstruct
  %other = torch.prim.ListConstruct : () -> !torch.list<tensor>
  // CHECK: torch.aten.append.t %[[L]], %[[T]]
  %0 = torch.aten.append.t %l, %t : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  %1 = torch.aten.append.t %other, %t : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  // CHECK-NEXT: torch.aten.zero_ %[[T]]
  %2 = torch.aten.zero_ %t : !torch.tensor -> !torch.tensor
  // CHECK-NEXT: return %[[L]]
  return %l : !torch.list<tensor>
}

// -----
// CHECK-LABEL: func.func @dead_results_of_branches
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @dead_results_of_branches(%c: !torch.bool, %x: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[R:.*]] = torch.prim.If %[[C]] -> (!torch.vtensor) {
  // CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %[[X]]
  // CHECK-NEXT: torch.prim.If.yield %[[T]] : !torch.vtensor
  // CHECK-NEXT: } else {
  // CHECK-NEXT: torch.prim.If.yield %[[X]] : !torch.vtensor
  %r:3 = torch.prim.If %c -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
    %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
    %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %0, %1, %0 : !torch.vtensor, !torch.vtensor, !torch.vtensor
  } else {
    torch.prim.If.yield %x, %x, %x : !torch.vtensor, !torch.vtensor, !torch.vtensor
  }
  %dead = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %r#0 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  // CHECK: return %[[R]]
  return %r#1 : !torch.vtensor
}

// -----
// A branch that writes stays without its results.
// CHECK-LABEL: func.func @branch_with_effects
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[X:[a-z0-9]+]]: !torch.tensor
func.func @branch_with_effects(%c: !torch.bool, %x: !torch.tensor) {
  // CHECK-NEXT: torch.prim.If %[[C]] -> () {
  // CHECK-NEXT: torch.aten.zero_ %[[X]]
  // CHECK-NEXT: torch.prim.If.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT: torch.prim.If.yield
  %r = torch.prim.If %c -> (!torch.tensor) {
    %0 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
    torch.prim.If.yield %0 : !torch.tensor
  } else {
    %1 = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
    torch.prim.If.yield %1 : !torch.tensor
  }
  return
}

// -----
// The dead slot goes in all four places; one that another live slot reads stays; the condition stays.
// CHECK-LABEL: func.func @dead_loop_slots
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @dead_loop_slots(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[TRUE:.*]] = torch.constant.bool true
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  // CHECK: %[[Y:.*]] = torch.aten.exp
  %y = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  // CHECK-NEXT: %[[R:.*]]:2 = torch.prim.Loop %[[N]], %[[TRUE]], init(%[[X]], %[[Y]]) {
  // CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %{{.*}}: !torch.vtensor, %[[P:.*]]: !torch.vtensor):
  // CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %[[P]]
  // CHECK-NEXT: torch.prim.Loop.condition %[[TRUE]], iter(%[[P]], %[[T]] : !torch.vtensor, !torch.vtensor)
  %r:4 = torch.prim.Loop %n, %true, init(%x, %y, %x, %zero) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor, %b: !torch.vtensor, %c: !torch.vtensor, %d: !torch.int):
    %0 = torch.aten.tanh %b : !torch.vtensor -> !torch.vtensor
    %1 = torch.aten.exp %c : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.add.int %d, %i : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%b, %0, %1, %2 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int)
  // CHECK: return %[[R]]#0
  return %r#0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @dead_loop
// CHECK-NEXT: return
func.func @dead_loop(%n: !torch.int, %x: !torch.vtensor) {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %0 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%0 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return
}

// -----
// What a round writes late the next one reads early, through another name.
// CHECK-LABEL: func.func @loop_carried_write
func.func @loop_carried_write(%n: !torch.int, %x: !torch.tensor<[4],f32>) -> !torch.tensor<[4],f32> {
  %true = torch.constant.bool true
  %none = torch.constant.none
  // CHECK: %[[A:.*]] = torch.aten.clone
  %a = torch.aten.clone %x, %none : !torch.tensor<[4],f32>, !torch.none -> !torch.tensor<[4],f32>
  // CHECK: torch.aten.detach %[[A]]
  %alias = torch.aten.detach %a : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: torch.prim.Loop
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %acc: !torch.tensor<[4],f32>):
    // CHECK: torch.aten.tanh %[[A]]
    %0 = torch.aten.tanh %a : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    // CHECK: torch.aten.exp_
    %1 = torch.aten.exp_ %alias : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%0 : !torch.tensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.tensor<[4],f32>) -> !torch.tensor<[4],f32>
  return %r : !torch.tensor<[4],f32>
}

// -----
// Guards stay: the program may rely on one that has no uses left. Unused groups go; what a group yields stays.
// CHECK-LABEL: func.func @speculation
func.func @speculation(%x: !torch.vtensor, %y: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  // CHECK-NEXT: tierup.guard{{.*}}f32[2]
  // CHECK-NEXT: tierup.guard{{.*}}s0
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2] defined>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  %1 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0] defined>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  // CHECK-NEXT: %[[G:.*]]:2 = "tierup.fusion_group"
  // CHECK-NOT: torch.aten.tanh
  // CHECK: torch.aten.exp
  %2:2 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    %3 = torch.aten.tanh %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    %4 = torch.aten.exp %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    "tierup.yield"(%4, %a) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>)
  // CHECK-NOT: tierup.fusion_group
  %5 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    %6 = torch.aten.tanh %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    "tierup.yield"(%6) : (!torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %2#1 : !torch.vtensor<[2],f32>
}

// -----
// A call stays: what types its function sees is not looked at.
// CHECK-LABEL: func.func @calls
func.func @calls(%x: !torch.tensor, %y: !torch.vtensor) {
  // CHECK: call @writes_it
  func.call @writes_it(%x) : (!torch.tensor) -> ()
  // KEEP-NEXT: call @may_fail
  %1 = func.call @may_fail(%y) : (!torch.vtensor) -> !torch.vtensor
  // KEEP-NEXT: call @harmless
  %2 = func.call @harmless(%y) : (!torch.vtensor) -> !torch.vtensor
  // CHECK-NEXT: return
  return
}
func.func private @writes_it(%x: !torch.tensor) {
  %0 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
  return
}
func.func private @may_fail(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.t %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @harmless(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// What a loop starts with, and goes on by, is used.
// CHECK-LABEL: func.func @conditions
func.func @conditions(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[M:.*]] = torch.aten.mul.int
  // CHECK: %[[START:.*]] = torch.aten.lt.int
  %m = torch.aten.mul.int %n, %n : !torch.int, !torch.int -> !torch.int
  %start = torch.aten.lt.int %n, %n : !torch.int, !torch.int -> !torch.bool
  // CHECK: torch.prim.Loop %[[M]], %[[START]]
  %r = torch.prim.Loop %m, %start, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %0 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    // CHECK: %[[ON:.*]] = torch.aten.gt.int
    %on = torch.aten.gt.int %n, %i : !torch.int, !torch.int -> !torch.bool
    // CHECK: torch.prim.Loop.condition %[[ON]]
    torch.prim.Loop.condition %on, iter(%0 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  // CHECK: %[[C:.*]] = torch.aten.eq.int
  %c = torch.aten.eq.int %n, %m : !torch.int, !torch.int -> !torch.bool
  // CHECK: torch.prim.If %[[C]]
  %s = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %r : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %s : !torch.vtensor
}

// -----
// Sizes are declared for arguments and for what is live.
// CHECK-LABEL: func.func @declared_sizes
func.func @declared_sizes(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  // CHECK: %[[S:.*]] = torch.symbolic_int "s0"
  // CHECK-NOT: torch.symbolic_int
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 100} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 100} : !torch.int
  // CHECK: torch.bind_symbolic_shape %arg0, [%[[S]]]
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  // CHECK: %[[T:.*]] = torch.aten.tanh
  %t = torch.aten.tanh %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  // CHECK-NEXT: torch.bind_symbolic_shape %[[T]], [%[[S]]]
  torch.bind_symbolic_shape %t, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  // CHECK-NEXT: return %[[T]]
  %e = torch.aten.exp %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %e, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  return %t : !torch.vtensor<[?],f32>
}

// -----
// What a guard ensures has cleared the sum, and a size has become a number; for other values the program is left, as it is to be.
// CHECK-LABEL: func.func @relied_on
// CHECK-NEXT: constant.int
// CHECK-NEXT: "tierup.guard"(%arg0)
// CHECK-NEXT: return
func.func @relied_on(%x: !torch.vtensor, %y: !torch.vtensor<[2],f32>) -> !torch.int {
  %two = torch.constant.int 2
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  %1 = torch.aten.add.Tensor %0, %y, %two : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor<[2],f32>
  return %two : !torch.int
}

// -----
// Of lists more is known once a dead append to one of them is gone: then this ListUnpack raises nothing.
// CHECK-LABEL: func.func @unpacked_beside_an_append
// CHECK-NOT: append
// KEEP-NOT: ListUnpack
// CHECK: return
func.func @unpacked_beside_an_append(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.list<vtensor> {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %ints = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.split.Tensor %x, %two, %zero : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %1:2 = torch.prim.ListUnpack %0 : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %2 = torch.aten.append.t %ints, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  return %0 : !torch.list<vtensor>
}

// -----
// A write that PyTorch refuses, for what is read is a part of what is written, stays; one of other memory goes.
// CHECK-LABEL: @part_of_what_is_written
// KEEP: torch.aten.add_.Tensor
// CHECK-NOT: torch.aten.mul_.Tensor
// CHECK: return %arg0
func.func @part_of_what_is_written(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %none = torch.constant.none
  %y = torch.aten.clone %x, %none : !torch.vtensor<[2],f32>, !torch.none -> !torch.tensor<[2],f32>
  %z = torch.aten.clone %x, %none : !torch.vtensor<[2],f32>, !torch.none -> !torch.tensor<[2],f32>
  %part = torch.aten.slice.Tensor %y, %zero, %zero, %one, %one : !torch.tensor<[2],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.tensor<[1],f32>
  %a = torch.aten.add_.Tensor %y, %part, %one : !torch.tensor<[2],f32>, !torch.tensor<[1],f32>, !torch.int -> !torch.tensor<[2],f32>
  %m = torch.aten.mul_.Tensor %z, %z : !torch.tensor<[2],f32>, !torch.tensor<[2],f32> -> !torch.tensor<[2],f32>
  return %x : !torch.vtensor<[2],f32>
}
