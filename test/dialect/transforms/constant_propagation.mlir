// RUN: tierup-opt %s --tierup-constant-propagation --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-constant-propagation --tierup-constant-propagation --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-constant-propagation=max-elements=2 --split-input-file | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @numbers
func.func @numbers() -> (!torch.int, !torch.float, !torch.bool, !torch.str, !torch.number) {
  // CHECK-DAG: %[[FIVE:.*]] = torch.constant.int 5
  // CHECK-DAG: %[[HALF:.*]] = torch.constant.float 5.000000e-01
  // CHECK-DAG: %[[TRUE:.*]] = torch.constant.bool true
  // CHECK-DAG: %[[S:.*]] = torch.constant.str "ab"
  // CHECK-DAG: %[[N:.*]] = torch.derefine %{{.*}} : !torch.int to !torch.number
  // CHECK: return %[[FIVE]], %[[HALF]], %[[TRUE]], %[[S]], %[[N]]
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %3 = torch.constant.int 3
  %a = torch.constant.str "a"
  %b = torch.constant.str "b"
  %n = torch.derefine %2 : !torch.int to !torch.number
  %four = torch.aten.add.int %1, %3 : !torch.int, !torch.int -> !torch.int
  %five = torch.aten.add.int %four, %1 : !torch.int, !torch.int -> !torch.int
  %half = torch.aten.div.int %1, %2 : !torch.int, !torch.int -> !torch.float
  %less = torch.aten.lt.int %1, %2 : !torch.int, !torch.int -> !torch.bool
  %ab = torch.aten.add.str %a, %b : !torch.str, !torch.str -> !torch.str
  %any = torch.aten.add %n, %n : !torch.number, !torch.number -> !torch.number
  return %five, %half, %less, %ab, %any : !torch.int, !torch.float, !torch.bool, !torch.str, !torch.number
}

// -----
// NumPy's rules where the op has them: 1/0 raises, and stays; torch's is an infinity.
// CHECK-LABEL: func.func @promotion
func.func @promotion() -> (!torch.float, !torch.float, !torch.vtensor, !torch.vtensor) {
  // CHECK-DAG: %[[INF:.*]] = torch.constant.float 0x7FF0000000000000
  // CHECK-DAG: %[[DIV:.*]] = torch.aten.div.int %{{.*}} {tierup.promotion = "numpy"}
  // CHECK-DAG: torch.vtensor.literal(dense<{{.*}}> : tensor<2xf32>)
  // CHECK-DAG: torch.vtensor.literal(dense<{{.*}}> : tensor<2xf64>)
  // CHECK: return %[[INF]], %[[DIV]]
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %i = torch.vtensor.literal(dense<[1, 2]> : tensor<2xsi32>) : !torch.vtensor<[2],si32>
  %f = torch.vtensor.literal(dense<[0.5, 1.5]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %2 = torch.aten.div.int %1, %0 : !torch.int, !torch.int -> !torch.float
  %3 = torch.aten.div.int %1, %0 {tierup.promotion = "numpy"} : !torch.int, !torch.int -> !torch.float
  %4 = torch.aten.add.Tensor %i, %f, %1 : !torch.vtensor<[2],si32>, !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor
  %5 = torch.aten.add.Tensor %i, %f, %1 {tierup.promotion = "numpy"} : !torch.vtensor<[2],si32>, !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor
  return %2, %3, %4, %5 : !torch.float, !torch.float, !torch.vtensor, !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @tensors
func.func @tensors() -> (!torch.vtensor, !torch.vtensor<[?],si64>, !torch.list<int>, !torch.int) {
  // CHECK-DAG: %[[SUM:.*]] = torch.vtensor.literal(dense<[{{.*}}]> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  // CHECK-DAG: %[[PLAIN:.*]] = torch.tensor_static_info_cast %[[SUM]] : !torch.vtensor<[3],f32> to !torch.vtensor
  // CHECK-DAG: %[[R:.*]] = torch.vtensor.literal(dense<[0, 1, 2]> : tensor<3xsi64>)
  // CHECK-DAG: %[[RANGE:.*]] = torch.tensor_static_info_cast %[[R]] : !torch.vtensor<[3],si64> to !torch.vtensor<[?],si64>
  // CHECK-DAG: %[[THREE:.*]] = torch.constant.int 3
  // CHECK-DAG: %[[SIZE:.*]] = torch.prim.ListConstruct %{{.*}} : (!torch.int) -> !torch.list<int>
  // CHECK: return %[[PLAIN]], %[[RANGE]], %[[SIZE]], %{{.*}}
  %none = torch.constant.none
  %3 = torch.constant.int 3
  %1 = torch.constant.int 1
  %x = torch.vtensor.literal(dense<[1.0, 2.0, 4.0]> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  %y = torch.aten.exp %x : !torch.vtensor<[3],f32> -> !torch.vtensor
  %z = torch.aten.add.Tensor %x, %y, %1 : !torch.vtensor<[3],f32>, !torch.vtensor, !torch.int -> !torch.vtensor
  %r = torch.aten.arange %3, %none, %none, %none, %none : !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  %s = torch.aten.size %y : !torch.vtensor -> !torch.list<int>
  %n = torch.aten.len.t %s : !torch.list<int> -> !torch.int
  return %z, %r, %s, %n : !torch.vtensor, !torch.vtensor<[?],si64>, !torch.list<int>, !torch.int
}

// -----
// What raises is left to raise.
// CHECK-LABEL: func.func @errors
func.func @errors(%c: !torch.bool) -> !torch.int {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %9 = torch.constant.int 9
  %l = torch.prim.ListConstruct %0, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK: torch.aten.floordiv.int
  %a = torch.aten.floordiv.int %1, %0 : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.aten.__getitem__.t
  %b = torch.aten.__getitem__.t %l, %9 : !torch.list<int>, !torch.int -> !torch.int
  %x = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  // CHECK: torch.aten.select.int
  %s = torch.aten.select.int %x, %0, %9 : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor
  // CHECK: torch.runtime.assert
  %no = torch.constant.bool false
  torch.runtime.assert %no, "no"
  return %a : !torch.int
}

// -----
// 1 // 0 in the arm that is not taken is never run; the arm that is stands in the branch's place.
// CHECK-LABEL: func.func @known_branches
func.func @known_branches(%x: !torch.vtensor) -> (!torch.int, !torch.vtensor) {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %true = torch.constant.bool true
  %false = torch.aten.__not__ %true : !torch.bool -> !torch.bool
  // CHECK-NOT: torch.prim.If
  // CHECK-NOT: floordiv
  // CHECK: %[[T:.*]] = torch.aten.tanh
  // CHECK-NOT: floordiv
  // CHECK: return %{{.*}}, %[[T]]
  %r:2 = torch.prim.If %false -> (!torch.int, !torch.vtensor) {
    %a = torch.aten.floordiv.int %1, %0 : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %a, %x : !torch.int, !torch.vtensor
  } else {
    %t = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    %s = torch.prim.If %true -> (!torch.int) {
      torch.prim.If.yield %1 : !torch.int
    } else {
      %a = torch.aten.floordiv.int %1, %0 : !torch.int, !torch.int -> !torch.int
      torch.prim.If.yield %a : !torch.int
    }
    torch.prim.If.yield %s, %t : !torch.int, !torch.vtensor
  }
  return %r#0, %r#1 : !torch.int, !torch.vtensor
}

// -----
// Of an open branch go the results that are one value, or one number, in both arms; 0.0 and -0.0, 1 and true, are not one.
// CHECK-LABEL: func.func @open_branches
func.func @open_branches(%c: !torch.bool, %x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.int, !torch.float, !torch.vtensor) {
  // CHECK: %[[TWO:.*]] = torch.constant.int 2
  // CHECK: %[[R:.*]]:2 = torch.prim.If %arg0 -> (!torch.float, !torch.vtensor)
  // CHECK: return %arg1, %[[TWO]], %[[R]]#0, %[[R]]#1
  %r:4 = torch.prim.If %c -> (!torch.vtensor, !torch.int, !torch.float, !torch.vtensor) {
    %1 = torch.constant.int 1
    %2 = torch.aten.add.int %1, %1 : !torch.int, !torch.int -> !torch.int
    %z = torch.constant.float 0.0
    torch.prim.If.yield %x, %2, %z, %x : !torch.vtensor, !torch.int, !torch.float, !torch.vtensor
  } else {
    %2 = torch.constant.int 2
    %z = torch.constant.float -0.0
    torch.prim.If.yield %x, %2, %z, %y : !torch.vtensor, !torch.int, !torch.float, !torch.vtensor
  }
  return %r#0, %r#1, %r#2, %r#3 : !torch.vtensor, !torch.int, !torch.float, !torch.vtensor
}

// -----
// Results of a nested branch: the outer keeps as many as are still used.
// CHECK-LABEL: func.func @nested_results
func.func @nested_results(%c: !torch.bool, %d: !torch.bool, %n: !torch.int) -> (!torch.int, !torch.int) {
  %1 = torch.constant.int 1
  // CHECK: %[[ONE:.*]] = torch.constant.int 1
  // CHECK: %[[R:.*]] = torch.prim.If %arg0 -> (!torch.int) {
  // CHECK-NEXT: %[[S:.*]] = torch.prim.If %arg1 -> (!torch.int) {
  // CHECK: torch.prim.If.yield %[[S]] : !torch.int
  // CHECK: return %[[ONE]], %[[R]]
  %r:2 = torch.prim.If %c -> (!torch.int, !torch.int) {
    %s:2 = torch.prim.If %d -> (!torch.int, !torch.int) {
      torch.prim.If.yield %1, %n : !torch.int, !torch.int
    } else {
      %m = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
      torch.prim.If.yield %1, %m : !torch.int, !torch.int
    }
    torch.prim.If.yield %s#0, %s#1 : !torch.int, !torch.int
  } else {
    torch.prim.If.yield %1, %1 : !torch.int, !torch.int
  }
  return %r#0, %r#1 : !torch.int, !torch.int
}

// -----
// Loops that do not run: no rounds, fewer than none, a condition that starts false.
// CHECK-LABEL: func.func @loops_that_do_not_run
func.func @loops_that_do_not_run(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %0 = torch.constant.int 0
  %m4 = torch.constant.int -4
  // CHECK-NOT: torch.prim.Loop
  // CHECK: return %arg0, %arg0, %arg0
  %a = torch.prim.Loop %0, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %b = torch.prim.Loop %m4, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %c = torch.prim.Loop %n, %false, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %a, %b, %c : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Loops that may run stay: two rounds, as many as an argument says, until a condition fails, for ever.
// CHECK-LABEL: func.func @loops_that_may_run
func.func @loops_that_may_run(%x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %2 = torch.constant.int 2
  // CHECK-COUNT-3: torch.prim.Loop %
  %a = torch.prim.Loop %2, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %b = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %max = torch.constant.int 9223372036854775807
  %d = torch.prim.Loop %max, %c, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %t = torch.aten.tanh %v : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %c, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %a, %b, %d : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Three carried values, one of which no round changes, and one that only a branch that is known would change.
// CHECK-LABEL: func.func @unchanged_in_loops
func.func @unchanged_in_loops(%x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.int) {
  %true = torch.constant.bool true
  %k = torch.constant.int 4
  %3 = torch.constant.int 3
  // CHECK: %[[FOUR:.*]] = torch.constant.int 4
  // CHECK: %[[R:.*]] = torch.prim.Loop %arg2, %{{.*}}, init(%arg0) {
  // CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %[[V:.*]]: !torch.vtensor):
  // CHECK-NEXT: torch.aten.matmul %[[V]], %arg1
  // CHECK: return %[[R]], %arg1, %[[FOUR]]
  %r:3 = torch.prim.Loop %n, %true, init(%x, %y, %k) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor, %w: !torch.vtensor, %j: !torch.int):
    %p = torch.aten.matmul %v, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    %less = torch.aten.lt.int %3, %k : !torch.int, !torch.int -> !torch.bool
    %j2 = torch.prim.If %less -> (!torch.int) {
      torch.prim.If.yield %j : !torch.int
    } else {
      %m = torch.aten.add.int %j, %i : !torch.int, !torch.int -> !torch.int
      torch.prim.If.yield %m : !torch.int
    }
    torch.prim.Loop.condition %true, iter(%p, %w, %j2 : !torch.vtensor, !torch.vtensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.int)
  return %r#0, %r#1, %r#2 : !torch.vtensor, !torch.vtensor, !torch.int
}

// -----
// A list that grows, and a tensor that is written, are no constants; views of a constant stay views when the caller gets both.
// CHECK-LABEL: func.func @written
func.func @written(%n: !torch.int) -> (!torch.int, !torch.tensor, !torch.vtensor<[2],f32>, !torch.vtensor) {
  %0 = torch.constant.int 0
  %l = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %a = torch.aten.append.t %l, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: torch.aten.len.t
  %len = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  // CHECK: torch.tensor.literal
  %t = torch.tensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.tensor<[2],f32>
  // CHECK: torch.aten.exp
  %e = torch.aten.exp %t : !torch.tensor<[2],f32> -> !torch.tensor
  // CHECK: torch.aten.zero_
  %z = torch.aten.zero_ %t : !torch.tensor<[2],f32> -> !torch.tensor<[2],f32>
  // CHECK: torch.aten.alias
  %v = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %u = torch.aten.alias %v : !torch.vtensor<[2],f32> -> !torch.vtensor
  return %len, %e, %v, %u : !torch.int, !torch.tensor, !torch.vtensor<[2],f32>, !torch.vtensor
}

// -----
// What makes too much stays: a big tensor, and a long list.
// CHECK-LABEL: func.func @too_big
func.func @too_big() -> (!torch.vtensor, !torch.int) {
  %none = torch.constant.none
  %n = torch.constant.int 1000000000000
  // CHECK: torch.aten.zeros
  %s = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %z = torch.aten.zeros %s, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  // CHECK: torch.aten.mul.left_t
  %m = torch.aten.mul.left_t %s, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  %l = torch.aten.len.t %m : !torch.list<int> -> !torch.int
  return %z, %l : !torch.vtensor, !torch.int
}

// -----
// A profile watches, whatever it watches.
// CHECK-LABEL: func.func @profiles
func.func @profiles() -> !torch.int {
  %1 = torch.constant.int 1
  // CHECK: %[[P:.*]] = "tierup.profile"
  %p = "tierup.profile"(%1) {slot = 0 : i64} : (!torch.int) -> !torch.int
  // CHECK: torch.aten.add.int %[[P]]
  %2 = torch.aten.add.int %p, %1 : !torch.int, !torch.int -> !torch.int
  "tierup.count_run"() : () -> ()
  return %2 : !torch.int
}

// -----
// What comes out of a list is the very thing that was put in.
// CHECK-LABEL: func.func @out_of_a_list
func.func @out_of_a_list() -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.list<int>, !torch.list<int>) {
  %0 = torch.constant.int 0
  %v = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %l = torch.prim.ListConstruct %v : (!torch.vtensor<[2],f32>) -> !torch.list<vtensor<[2],f32>>
  // CHECK: %[[ITEM:.*]] = torch.aten.__getitem__.t
  %item = torch.aten.__getitem__.t %l, %0 : !torch.list<vtensor<[2],f32>>, !torch.int -> !torch.vtensor<[2],f32>
  // CHECK: %[[INNER:.*]] = torch.prim.ListConstruct %int0
  %inner = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %outer = torch.prim.ListConstruct %inner : (!torch.list<int>) -> !torch.list<list<int>>
  // CHECK: %[[L:.*]] = torch.aten.__getitem__.t
  %again = torch.aten.__getitem__.t %outer, %0 : !torch.list<list<int>>, !torch.int -> !torch.list<int>
  // CHECK: return %{{.*}}, %[[ITEM]], %[[INNER]], %[[L]]
  return %v, %item, %inner, %again : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.list<int>, !torch.list<int>
}

// -----
// Operands of more elements than are allowed, and results.
// CHECK-LABEL: func.func @limits
// SMALL-LABEL: func.func @limits
func.func @limits() -> (!torch.vtensor, !torch.vtensor) {
  %none = torch.constant.none
  %3 = torch.constant.int 3
  %x = torch.vtensor.literal(dense<[1.0, 2.0, 4.0]> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  // CHECK: torch.vtensor.literal(dense<7.0{{.*}}> : tensor<f32>)
  // SMALL: torch.aten.sum
  %s = torch.aten.sum %x, %none : !torch.vtensor<[3],f32>, !torch.none -> !torch.vtensor
  // CHECK: torch.vtensor.literal(dense<[0, 1, 2]> : tensor<3xsi64>)
  // SMALL: torch.aten.arange
  %r = torch.aten.arange %3, %none, %none, %none, %none : !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  return %s, %r : !torch.vtensor, !torch.vtensor
}

// -----
// Numbers of two kinds are two, whatever the branch's result is called.
// CHECK-LABEL: func.func @numbers_of_two_kinds
func.func @numbers_of_two_kinds(%c: !torch.bool) -> !torch.number {
  %i = torch.constant.int 1
  %f = torch.constant.float 1.0
  %a = torch.derefine %i : !torch.int to !torch.number
  %b = torch.derefine %f : !torch.float to !torch.number
  // CHECK: torch.prim.If
  %r = torch.prim.If %c -> (!torch.number) {
    torch.prim.If.yield %a : !torch.number
  } else {
    torch.prim.If.yield %b : !torch.number
  }
  return %r : !torch.number
}

// -----
// A round that goes on with what the loop starts from.
// CHECK-LABEL: func.func @back_to_the_start
func.func @back_to_the_start(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  // CHECK: %[[R:.*]] = torch.prim.Loop %arg1, %{{.*}}, init(%arg0) {
  // CHECK: torch.aten.matmul %{{.*}}, %arg0
  // CHECK: return %[[R]], %arg0
  %r:2 = torch.prim.Loop %n, %true, init(%x, %x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor, %w: !torch.vtensor):
    %p = torch.aten.matmul %v, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%p, %x : !torch.vtensor, !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  return %r#0, %r#1 : !torch.vtensor, !torch.vtensor
}

// -----
// What lists and tuples of constants hold is known, and so is what nobody writes.
// CHECK-LABEL: func.func @containers
func.func @containers() -> (!torch.int, !torch.vtensor, !torch.tensor) {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %none = torch.constant.none
  // CHECK-NOT: torch.aten
  // CHECK-NOT: torch.prim
  // CHECK: return
  %l = torch.prim.ListConstruct %1, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %a = torch.aten.__getitem__.t %l, %1 : !torch.list<int>, !torch.int -> !torch.int
  %z = torch.aten.zeros %l, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %t = torch.tensor.literal(dense<[0.0, 1.0]> : tensor<2xf32>) : !torch.tensor<[2],f32>
  %e = torch.aten.exp %t : !torch.tensor<[2],f32> -> !torch.tensor
  return %a, %z, %e : !torch.int, !torch.vtensor, !torch.tensor
}

// -----
// CHECK-LABEL: func.func @in_a_group
func.func @in_a_group(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    // CHECK: torch.constant.int 2
    // CHECK-NOT: torch.aten.add.int
    %k = torch.constant.int 1
    %m = torch.aten.add.int %k, %k : !torch.int, !torch.int -> !torch.int
    %1 = torch.aten.mul.Scalar %a, %m : !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor<[2],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----
// A type that contradicts the value; a division that is known not to raise.
// CHECK-LABEL: func.func @checked
func.func @checked() -> (!torch.vtensor<[5],f32>, !torch.int) {
  %7 = torch.constant.int 7
  %2 = torch.constant.int 2
  %x = torch.vtensor.literal(dense<[1.0, 2.0, 4.0]> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  // CHECK: torch.aten.exp
  %y = torch.aten.exp %x : !torch.vtensor<[3],f32> -> !torch.vtensor<[5],f32>
  // CHECK-NOT: torch.aten.floordiv.int
  %q = torch.aten.floordiv.int %7, %2 : !torch.int, !torch.int -> !torch.int
  return %y, %q : !torch.vtensor<[5],f32>, !torch.int
}

// -----
// What a branch leaves over goes, where it alone was decided; so does what a loop that does not run would have raised.
// CHECK-LABEL: func.func @leftovers
// CHECK-NEXT: return %arg0
func.func @leftovers(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %r = torch.prim.If %true -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    %t = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %t : !torch.vtensor
  }
  return %r : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @a_loop_that_would_raise
// CHECK-NEXT: return %arg0
func.func @a_loop_that_would_raise(%n: !torch.int, %m: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %0 = torch.constant.int 0
  %r = torch.prim.Loop %0, %true, init(%n) {
  ^bb0(%i: !torch.int, %v: !torch.int):
    %q = torch.aten.floordiv.int %v, %m : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%q : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %r : !torch.int
}

// -----
// One round is a round; in it constants are folded as anywhere.
// CHECK-LABEL: func.func @one_round
func.func @one_round(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %1 = torch.constant.int 1
  // CHECK: torch.prim.Loop %
  // CHECK-NOT: torch.aten.add.int
  // CHECK: torch.aten.mul.Scalar
  %r = torch.prim.Loop %1, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %two = torch.aten.add.int %1, %1 : !torch.int, !torch.int -> !torch.int
    %t = torch.aten.mul.Scalar %v, %two : !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%t : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor
}

// -----
// Of what no round changes, one is used inside alone, and one outside alone.
// CHECK-LABEL: func.func @used_on_one_side
func.func @used_on_one_side(%x: !torch.vtensor, %y: !torch.vtensor, %z: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  // CHECK: %[[R:.*]] = torch.prim.Loop %arg3, %{{.*}}, init(%arg0) {
  // CHECK: torch.aten.matmul %{{.*}}, %arg1
  // CHECK: return %[[R]], %arg2
  %r:3 = torch.prim.Loop %n, %true, init(%x, %y, %z) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor, %w: !torch.vtensor, %u: !torch.vtensor):
    %p = torch.aten.matmul %v, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%p, %w, %u : !torch.vtensor, !torch.vtensor, !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
  return %r#0, %r#2 : !torch.vtensor, !torch.vtensor
}

// -----
// As many elements as are allowed where nothing else is said, and one more. An index that is in range.
// CHECK-LABEL: func.func @up_to_16384
// CHECK-NOT: torch.aten
// CHECK: torch.vtensor.literal({{.*}} : tensor<16384xf32>)
// CHECK-NOT: torch.aten.select.int
// CHECK: torch.aten.zeros
// CHECK-NOT: torch.aten.select.int
// CHECK: return
func.func @up_to_16384() -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %none = torch.constant.none
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %most = torch.constant.int 16384
  %more = torch.constant.int 16385
  %l = torch.prim.ListConstruct %most : (!torch.int) -> !torch.list<int>
  %m = torch.prim.ListConstruct %more : (!torch.int) -> !torch.list<int>
  %a = torch.aten.zeros %l, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %b = torch.aten.zeros %m, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %x = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %s = torch.aten.select.int %x, %0, %1 : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor
  %e = torch.aten.exp %s : !torch.vtensor -> !torch.vtensor
  return %a, %b, %e : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Once a carried value is known to stay what it was, what is computed from it is known.
// CHECK-LABEL: func.func @known_once_unchanged
// CHECK-NOT: torch.aten.add.int
func.func @known_once_unchanged(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %k = torch.constant.int 4
  %r:2 = torch.prim.Loop %n, %true, init(%x, %k) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor, %j: !torch.int):
    %5 = torch.aten.add.int %j, %j : !torch.int, !torch.int -> !torch.int
    %t = torch.aten.mul.Scalar %v, %5 : !torch.vtensor, !torch.int -> !torch.vtensor
    %j2 = torch.prim.If %true -> (!torch.int) {
      torch.prim.If.yield %j : !torch.int
    } else {
      torch.prim.If.yield %i : !torch.int
    }
    torch.prim.Loop.condition %true, iter(%t, %j2 : !torch.vtensor, !torch.int)
  } : (!torch.int, !torch.bool, !torch.vtensor, !torch.int) -> (!torch.vtensor, !torch.int)
  return %r#0 : !torch.vtensor
}

// -----
// What somebody writes later is no constant, nor is what reads it, though all operands of the op that makes it are.
// CHECK-LABEL: func.func @made_and_written
// CHECK: %[[OUT:.*]] = torch.aten.zeros
// CHECK: torch.aten.add_.Scalar %[[OUT]]
// CHECK: %[[R:.*]] = torch.aten.mul.Scalar %[[OUT]]
// CHECK: %[[MASK:.*]] = torch.aten.ones
// CHECK: %[[ROW:.*]] = torch.aten.select.int %[[MASK]]
// CHECK: torch.aten.copy_ %[[ROW]]
// CHECK: return %[[R]], %[[MASK]]
func.func @made_and_written(%m: !torch.int, %x: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %sizes = torch.prim.ListConstruct %int2 : (!torch.int) -> !torch.list<int>
  %out = torch.aten.zeros %sizes, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.tensor
  %w = torch.aten.add_.Scalar %out, %m, %int1 : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %r = torch.aten.mul.Scalar %out, %int2 : !torch.tensor, !torch.int -> !torch.tensor
  %mask = torch.aten.ones %sizes, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.tensor
  %row = torch.aten.select.int %mask, %int0, %int0 : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %c = torch.aten.copy_ %row, %x, %false : !torch.tensor, !torch.tensor, !torch.bool -> !torch.tensor
  return %r, %mask : !torch.tensor, !torch.tensor
}
