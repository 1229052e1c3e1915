// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups=excluded=aten.sort --tierup-verify-specialized --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups=excluded=aten.sort --tierup-fuse-groups=excluded=aten.sort --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @whole_function
// CHECK-NEXT: [[G:%.+]] = "tierup.fusion_group"(%arg1, %arg0) ({
// CHECK-NEXT: ^bb0([[N:%.+]]: !torch.int, [[X:%.+]]: !torch.vtensor<[4],f32>):
// CHECK: torch.prim.Loop [[N]]
// CHECK: "tierup.yield"
// CHECK: return [[G]]
func.func @whole_function(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    %1 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// An op without native code that raises for no array: the ops on both sides of it are one group, which takes a copy of the constant.
// CHECK-LABEL: func.func @around_an_op
// CHECK: torch.aten.nonzero
// CHECK: "tierup.fusion_group"(%arg0, %arg1)
// CHECK: torch.aten.tanh
// CHECK: torch.constant.int 1
// CHECK: torch.aten.add.Tensor
// CHECK-NOT: tierup.fusion_group
// CHECK: return
func.func @around_an_op(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor) {
  %one = torch.constant.int 1
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %n = torch.aten.nonzero %y : !torch.vtensor<[4],f32> -> !torch.vtensor
  %1 = torch.aten.add.Tensor %0, %y, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  return %1, %n : !torch.vtensor<[4],f32>, !torch.vtensor
}

// -----
// A path through an op outside: two groups.
// CHECK-LABEL: func.func @dependence
// CHECK: "tierup.fusion_group"
// CHECK: "tierup.yield"
// CHECK: torch.aten.sort
// CHECK: "tierup.fusion_group"
// CHECK: "tierup.yield"
func.func @dependence(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2, %3 = torch.aten.sort %1, %zero, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
  %4 = torch.aten.tanh %2 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %5 = torch.aten.mul.Tensor %4, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %5 : !torch.vtensor<[4],f32>
}

// -----
// Which of the ops that may raise does so first stays: none of them passes the one outside.
// CHECK-LABEL: func.func @errors_keep_their_order
// CHECK: "tierup.fusion_group"(%arg1, %arg2)
// CHECK: torch.aten.mm
// CHECK: "tierup.yield"
// CHECK: torch.operator "tierup.argpartition"
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.mm
func.func @errors_keep_their_order(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[2,3],f32>, %z: !torch.vtensor<[3,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[3,3],f32>) {
  %dim = torch.constant.int 0
  %kth = torch.prim.ListConstruct %dim : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %y : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.mm %0, %z : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,2],f32>
  %2 = torch.operator "tierup.argpartition"(%x, %dim, %kth) : (!torch.vtensor<[4],f32>, !torch.int, !torch.list<int>) -> !torch.vtensor<[4],si64>
  %3 = torch.aten.mm %z, %y : !torch.vtensor<[3,2],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,3],f32>
  %4 = torch.aten.tanh %3 : !torch.vtensor<[3,3],f32> -> !torch.vtensor<[3,3],f32>
  return %1, %2, %4 : !torch.vtensor<[2,2],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[3,3],f32>
}

// -----
// A loop that is not native as a whole is searched inside.
// CHECK-LABEL: func.func @inside_a_loop
// CHECK-NOT: tierup.fusion_group
// CHECK: torch.prim.Loop
// CHECK: torch.aten.sort
// CHECK: "tierup.fusion_group"
// CHECK: torch.prim.Loop.condition
func.func @inside_a_loop(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    %1, %2 = torch.aten.sort %a, %zero, %true : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
    %3 = torch.aten.tanh %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %4 = torch.aten.exp %3 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// Sizes that only the run knows have symbols in the group; lists are made again in it.
// CHECK-LABEL: func.func @symbols_and_lists
// CHECK: "tierup.fusion_group"
// CHECK: torch.symbolic_int "s0"
// CHECK: torch.bind_symbolic_shape
// CHECK: torch.aten.size.int
// CHECK: torch.prim.ListConstruct
// CHECK: torch.aten.view
// CHECK: "tierup.yield"
func.func @symbols_and_lists(%x: !torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[4,?],f32>, !torch.vtensor) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %zero = torch.constant.int 0
  %four = torch.constant.int 4
  %n = torch.aten.size.int %x, %zero : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int
  %l = torch.prim.ListConstruct %four, %n : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.view %0, %l : !torch.vtensor<[?,4],f32>, !torch.list<int> -> !torch.vtensor<[4,?],f32>
  %2 = torch.aten.exp %1 : !torch.vtensor<[4,?],f32> -> !torch.vtensor<[4,?],f32>
  %3 = torch.aten.nonzero %2 : !torch.vtensor<[4,?],f32> -> !torch.vtensor
  return %2, %3 : !torch.vtensor<[4,?],f32>, !torch.vtensor
}

// -----
// An op that raises on all such operands stays outside, between those around it, also in a loop; used or not.
// CHECK-LABEL: func.func @raises
// CHECK: "tierup.fusion_group"(%arg0)
// CHECK: torch.aten.tanh
// CHECK: torch.aten.exp
// CHECK: torch.aten.cos
// CHECK: "tierup.yield"
// CHECK: torch.aten.select.int
// CHECK: torch.prim.Loop
// CHECK: torch.aten.__getitem__.t
// CHECK-NOT: tierup.refused
func.func @raises(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> !torch.vtensor<[4],f32> {
  %zero = torch.constant.int 0
  %nine = torch.constant.int 9
  %true = torch.constant.bool true
  %l = torch.prim.ListConstruct %nine, %nine : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-remark@below {{raises on such operands: select(): index 9 out of range}}
  %2 = torch.aten.select.int %1, %zero, %nine : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor
  %3 = torch.aten.sin %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %4 = torch.aten.cos %3 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %5 = torch.prim.Loop %n, %true, init(%4) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>):
    // expected-remark@below {{raises on such operands: list index out of range}}
    %6 = torch.aten.__getitem__.t %l, %nine : !torch.list<int>, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%a : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %5 : !torch.vtensor<[4],f32>
}

// -----
// What a list inside is made of is also given: the list's copy inside reads it there, not the group's result.
// CHECK-LABEL: func.func @list_of_an_output
// CHECK: %[[G:.*]]:2 = "tierup.fusion_group"
// CHECK: %[[T:.*]] = torch.aten.tanh
// CHECK: %[[L:.*]] = torch.prim.ListConstruct %[[T]]
// CHECK: torch.aten.cat %[[L]]
// CHECK: return %[[G]]#{{.}}, %[[G]]#{{.}}
func.func @list_of_an_output(%x: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) {
  %zero = torch.constant.int 0
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %l = torch.prim.ListConstruct %0 : (!torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,3],f32>
  return %1, %0 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>
}

// -----
// A list of pieces that views outside take apart as well stays outside, and so do they: no kernel gives a list.
// CHECK-LABEL: func.func @pieces_on_both_sides
// CHECK: torch.aten.split.Tensor
// CHECK-NEXT: torch.prim.ListUnpack
// CHECK: "tierup.fusion_group"
// CHECK-NOT: torch.list
// CHECK: tierup.yield
func.func @pieces_on_both_sides(%x: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<*,si64>) {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %l = torch.aten.split.Tensor %x, %two, %zero : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.list<vtensor>
  %0 = torch.prim.ListUnpack %l : !torch.list<vtensor> -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.__getitem__.t %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,3],f32>
  %2 = torch.aten.exp %1 : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %3 = torch.aten.tanh %2 : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %4 = torch.aten.nonzero %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<*,si64>
  return %0, %3, %4 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<*,si64>
}

// -----
// What reads a list stays behind the loop that appends to it, though nothing but the list leads from one to the other.
// CHECK-LABEL: func.func @list_that_grows
// CHECK: torch.prim.Loop
// CHECK: torch.aten.append.t
// CHECK: torch.aten.stack
// CHECK: return
func.func @list_that_grows(%x: !torch.vtensor<[3],f32>, %n: !torch.int) -> (!torch.vtensor<*,f32>, !torch.vtensor<[3],f32>) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %0 = torch.aten.maximum %x, %x : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  %l = torch.prim.ListConstruct %x : (!torch.vtensor<[3],f32>) -> !torch.list<vtensor>
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    %2 = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor<[3],f32> -> !torch.list<vtensor>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %3 = torch.aten.stack %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<*,f32>
  %4 = torch.aten.exp %0 : !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  %5 = torch.aten.tanh %4 : !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  return %3, %5 : !torch.vtensor<*,f32>, !torch.vtensor<[3],f32>
}
