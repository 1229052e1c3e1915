// RUN: tierup-opt %s --tierup-add-gradients="entry=f wrt=0 cotangents" | FileCheck %s
// RUN: tierup-opt %s --tierup-add-gradients="entry=typed results=0 cotangents keep-results=false" | FileCheck %s --check-prefix=TYPED
// RUN: tierup-opt %s --tierup-add-gradients=entry=branch | FileCheck %s --check-prefix=BRANCH
// RUN: tierup-opt %s --tierup-add-gradients="entry=loop wrt=1" | FileCheck %s --check-prefix=LOOP
// RUN: tierup-opt %s --tierup-add-gradients="entry=until wrt=0" | FileCheck %s --check-prefix=UNTIL
// RUN: tierup-opt %s --tierup-add-gradients="entry=unrelated wrt=0" | FileCheck %s --check-prefix=UNRELATED
// RUN: tierup-opt %s --tierup-add-gradients="entry=parts wrt=0" | FileCheck %s --check-prefix=PARTS
!t = !torch.vtensor

// One argument is wanted: nothing is computed for the other.
// CHECK-LABEL: func.func @f(%arg0: !torch.vtensor {tierup.name = "x"}, %arg1: !torch.vtensor, %arg2: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
// CHECK-NEXT: %[[R:.*]] = torch.aten.mul.Tensor %arg0, %arg1
// CHECK-NEXT: %[[G:.*]] = torch.aten.mul.Tensor %arg2, %arg1
// CHECK-NEXT: %[[SIZE:.*]] = torch.aten.size %arg0
// CHECK-NEXT: %[[S:.*]] = torch.operator "aten._grad_sum_to_size"(%[[G]], %[[SIZE]])
// CHECK-NEXT: %[[DTYPE:.*]] = torch.prim.dtype %arg0
// CHECK: %[[C:.*]] = torch.aten.to.dtype %[[S]], %[[DTYPE]]
// CHECK-NEXT: return %[[R]], %[[C]]
func.func @f(%x: !t {tierup.name = "x"}, %y: !t) -> !t {
  %0 = torch.aten.mul.Tensor %x, %y : !t, !t -> !t
  return %0 : !t
}

// Known sizes and dtypes: no sum where none was repeated, no cast. An argument of integers is none that is wanted.
// TYPED-LABEL: func.func @typed(%arg0: !torch.vtensor<[2,3],f32>, %arg1: !torch.vtensor<[3],si32>, %arg2: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
// TYPED-NEXT: torch.aten.mul.Tensor %arg0, %arg1
// TYPED-NEXT: %[[G:.*]] = torch.aten.mul.Tensor %arg2, %arg1
// TYPED-NEXT: return %[[G]]
func.func @typed(%x: !torch.vtensor<[2,3],f32>, %i: !torch.vtensor<[3],si32>) -> !torch.vtensor<[2,3],f32> {
  %0 = torch.aten.mul.Tensor %x, %i : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3],si32> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// The second branch computes again what the arm's gradient needs, and no more; the arm that gives nothing to %y gives zeros.
// BRANCH-LABEL: func.func @branch(
// BRANCH: torch.prim.If %arg2 -> (!torch.vtensor)
// BRANCH: %[[ONE:.*]] = torch.aten.ones
// BRANCH: %[[D:.*]]:2 = torch.prim.If %arg2 -> (!torch.vtensor, !torch.vtensor) {
// BRANCH: %[[E:.*]] = torch.aten.exp %arg0
// BRANCH-NOT: torch.aten.add.Scalar
// BRANCH: torch.aten.mul.Tensor %{{.*}}, %[[E]]
// BRANCH: torch.aten.zeros
// BRANCH: } else {
// BRANCH-NOT: torch.aten.exp
// BRANCH: torch.prim.If.yield
// BRANCH: return %{{.*}}, %[[D]]#0, %[[D]]#1
func.func @branch(%x: !torch.vtensor<[],f32>, %y: !torch.vtensor<[],f32>, %c: !torch.bool) -> !t {
  %0 = torch.prim.If %c -> (!t) {
    %1 = torch.aten.exp %x : !torch.vtensor<[],f32> -> !t
    %one = torch.constant.int 1
    %2 = torch.aten.add.Scalar %1, %one, %one : !t, !torch.int, !torch.int -> !t
    torch.prim.If.yield %2 : !t
  } else {
    %1 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[],f32>, !torch.vtensor<[],f32> -> !t
    torch.prim.If.yield %1 : !t
  }
  return %0 : !t
}

// What the loop carries is saved; the gradient of a tensor from outside is summed.
// LOOP-LABEL: func.func @loop(
// LOOP: %[[F:.*]]:2 = torch.prim.Loop %arg2, %{{.*}}, init(%arg0, %{{.*}}) {
// LOOP: ^bb0(%{{.*}}: !torch.int, %[[A:.*]]: !torch.vtensor, %[[SAVED:.*]]: !torch.list<vtensor>):
// LOOP: %[[NEW:.*]] = torch.prim.ListConstruct %[[A]]
// LOOP: torch.aten.add.t %[[SAVED]], %[[NEW]]
// LOOP: %[[B:.*]]:2 = torch.prim.Loop %arg2, %{{.*}}, init(%{{.*}}, %{{.*}}) {
// LOOP: torch.aten.__getitem__.t %[[F]]#1
// LOOP: return %{{.*}}, %[[B]]#1
func.func @loop(%x: !t, %w: !t, %n: !torch.int) -> !t {
  %true = torch.constant.bool true
  %none = torch.constant.none
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !t):
    %1 = torch.aten.mul.Tensor %a, %w : !t, !t -> !t
    torch.prim.Loop.condition %true, iter(%1 : !t)
  } : (!torch.int, !torch.bool, !t) -> !t
  %2 = torch.aten.sum %0, %none : !t, !torch.none -> !t
  return %2 : !t
}

// A loop that ends by its condition counts; a gradient that needs no value from the loop saves none.
// UNTIL-LABEL: func.func @until(
// UNTIL: %[[F:.*]]:3 = torch.prim.Loop %{{.*}}, %{{.*}}, init(%arg0, %arg1, %int0{{.*}}) {
// UNTIL-NOT: torch.list<vtensor>
// UNTIL: torch.prim.Loop %[[F]]#2, %true
func.func @until(%x: !torch.vtensor<[],f32>, %n: !torch.int) -> !torch.vtensor<[],f32> {
  %max = torch.constant.int 9223372036854775807
  %half = torch.constant.float 0.5
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %c = torch.aten.gt.int %n, %zero : !torch.int, !torch.int -> !torch.bool
  %0:2 = torch.prim.Loop %max, %c, init(%x, %n) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[],f32>, %k: !torch.int):
    %1 = torch.aten.mul.Scalar %a, %half : !torch.vtensor<[],f32>, !torch.float -> !torch.vtensor<[],f32>
    %2 = torch.aten.sub.int %k, %one : !torch.int, !torch.int -> !torch.int
    %d = torch.aten.gt.int %2, %zero : !torch.int, !torch.int -> !torch.bool
    torch.prim.Loop.condition %d, iter(%1, %2 : !torch.vtensor<[],f32>, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor<[],f32>, !torch.int) -> (!torch.vtensor<[],f32>, !torch.int)
  return %0#0 : !torch.vtensor<[],f32>
}

// An argument on which nothing depends has a gradient of zeros.
// UNRELATED-LABEL: func.func @unrelated(
// UNRELATED: %[[SIZE:.*]] = torch.aten.size %arg0
// UNRELATED: %[[Z:.*]] = torch.aten.zeros %[[SIZE]]
// UNRELATED: return %{{.*}}, %[[Z]]
func.func @unrelated(%x: !t, %y: !t) -> !t {
  %none = torch.constant.none
  %0 = torch.aten.sum %y, %none : !t, !torch.none -> !t
  return %0 : !t
}

// A loop that reads parts of a tensor adds the gradient of each in its place: no tensor of that size is made in it.
// PARTS-LABEL: func.func @parts(
// PARTS: torch.prim.Loop
// PARTS: torch.prim.Loop
// PARTS: ^bb0(%{{.*}}: !torch.int, %{{.*}}: !torch.vtensor, %[[SUM:.*]]: !torch.vtensor):
// PARTS-NOT: torch.aten.zeros
// PARTS: %[[SLICE:.*]] = torch.aten.slice.Tensor %[[SUM]]
// PARTS: %[[MORE:.*]] = torch.aten.add.Tensor %[[SLICE]]
// PARTS: %[[ONE:.*]] = torch.aten.slice_scatter %[[SUM]], %[[MORE]]
// PARTS: %[[ROW:.*]] = torch.aten.select.int %[[ONE]]
// PARTS: %[[SUMMED:.*]] = torch.aten.add.Tensor %[[ROW]]
// PARTS: torch.aten.select_scatter %[[ONE]], %[[SUMMED]]
// PARTS: torch.prim.Loop.condition
func.func @parts(%x: !t, %s: !t, %n: !torch.int) -> !t {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %r = torch.prim.Loop %n, %true, init(%s) {
  ^bb0(%i: !torch.int, %a: !t):
    %j = torch.aten.add.int %i, %one : !torch.int, !torch.int -> !torch.int
    %0 = torch.aten.select.int %x, %zero, %i : !t, !torch.int, !torch.int -> !t
    %1 = torch.aten.slice.Tensor %x, %zero, %i, %j, %one : !t, !torch.int, !torch.int, !torch.int, !torch.int -> !t
    %2 = torch.aten.mul.Tensor %0, %1 : !t, !t -> !t
    %3 = torch.aten.mul.Tensor %a, %2 : !t, !t -> !t
    torch.prim.Loop.condition %true, iter(%3 : !t)
  } : (!torch.int, !torch.bool, !t) -> !t
  return %r : !t
}
