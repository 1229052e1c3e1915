// RUN: tierup-opt %s --split-input-file --tierup-unpack-lists | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-unpack-lists --tierup-unpack-lists | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-unpack-lists="most=3" | FileCheck %s --check-prefix=BOUND

// CHECK-LABEL: func.func @pieces
// CHECK: torch.aten.slice.Tensor %arg0, %int0, %int0_{{.*}}, %int2_{{.*}}, %int1
// CHECK: torch.aten.slice.Tensor %arg0, %int0, %int2_{{.*}}, %int4{{.*}}, %int1
// CHECK: torch.aten.slice.Tensor %arg0, %int0, %int4_{{.*}}, %int6{{.*}}, %int1
// CHECK-NOT: torch.prim.ListUnpack
// CHECK: torch.aten.select.int %arg0, %int1, %int3
// CHECK: [[N:%.+]] = torch.aten.size.int %arg1
// CHECK: [[RAISED:%.+]] = torch.aten.add.int [[N]], %int1
// CHECK: [[LENGTH:%.+]] = torch.aten.floordiv.int [[RAISED]], %int2
// CHECK: [[START:%.+]] = torch.aten.mul.int [[LENGTH]], %int1
// CHECK: [[END:%.+]] = torch.aten.mul.int [[LENGTH]], %int2
// CHECK: torch.aten.slice.Tensor %arg1, %int0, [[START]], [[END]]
// CHECK-NOT: torch.aten.__getitem__.t
func.func @pieces(%x: !torch.vtensor<[6,4],f32>, %y: !torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[6],f32>, !torch.vtensor<[?,4],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %l = torch.aten.split.Tensor %x, %int2, %int0 : !torch.vtensor<[6,4],f32>, !torch.int, !torch.int -> !torch.list<vtensor<[2,4],f32>>
  %a:3 = torch.prim.ListUnpack %l : !torch.list<vtensor<[2,4],f32>> -> !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>
  %m = torch.aten.unbind.int %x, %int1 : !torch.vtensor<[6,4],f32>, !torch.int -> !torch.list<vtensor<[6],f32>>
  %b = torch.aten.__getitem__.t %m, %int3 : !torch.list<vtensor<[6],f32>>, !torch.int -> !torch.vtensor<[6],f32>
  %n = torch.aten.chunk %y, %int2, %int0 : !torch.vtensor<[?,4],f32>, !torch.int, !torch.int -> !torch.list<vtensor<[?,4],f32>>
  %c = torch.aten.__getitem__.t %n, %int1 : !torch.list<vtensor<[?,4],f32>>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %a#0, %a#1, %a#2, %b, %c : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[6],f32>, !torch.vtensor<[?,4],f32>
}

// -----
// CHECK-LABEL: func.func @sizes_and_lists
// CHECK-NOT: torch.aten.size :
// CHECK: [[N:%.+]] = torch.aten.size.int %arg0, %int0
// CHECK: [[FOUR:%.+]] = torch.constant.int 4
// CHECK: [[RANK:%.+]] = torch.constant.int 2
// CHECK: return [[N]], [[FOUR]], [[RANK]], %arg2
func.func @sizes_and_lists(%x: !torch.vtensor<[?,4],f32>, %a: !torch.int, %b: !torch.int) -> (!torch.int, !torch.int, !torch.int, !torch.int) {
  %int-1 = torch.constant.int -1
  %int0 = torch.constant.int 0
  %s = torch.aten.size %x : !torch.vtensor<[?,4],f32> -> !torch.list<int>
  %0:2 = torch.prim.ListUnpack %s : !torch.list<int> -> !torch.int, !torch.int
  %n = torch.aten.len.t %s : !torch.list<int> -> !torch.int
  %l = torch.prim.ListConstruct %a, %b : (!torch.int, !torch.int) -> !torch.list<int>
  %m = torch.aten.add.t %s, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  %last = torch.aten.__getitem__.t %m, %int-1 : !torch.list<int>, !torch.int -> !torch.int
  return %0#0, %0#1, %n, %last : !torch.int, !torch.int, !torch.int, !torch.int
}

// -----
// Lists of sizes are equal item by item, if there are as many.
// CHECK-LABEL: func.func @compared
// CHECK: [[SAME:%.+]] = torch.aten.__and__.bool
// CHECK: [[APART:%.+]] = torch.aten.__not__
// CHECK: [[LONGER:%.+]] = torch.constant.bool false
// CHECK: return [[SAME]], [[APART]], [[LONGER]]
func.func @compared(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[3,?],f32>, %n: !torch.int) -> (!torch.bool, !torch.bool, !torch.bool) {
  %s = torch.aten.size %x : !torch.vtensor<[?,4],f32> -> !torch.list<int>
  %t = torch.aten.size %y : !torch.vtensor<[3,?],f32> -> !torch.list<int>
  %l = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.eq.int_list %s, %t : !torch.list<int>, !torch.list<int> -> !torch.bool
  %1 = torch.aten.ne.int_list %s, %t : !torch.list<int>, !torch.list<int> -> !torch.bool
  %2 = torch.aten.eq.int_list %s, %l : !torch.list<int>, !torch.list<int> -> !torch.bool
  return %0, %1, %2 : !torch.bool, !torch.bool, !torch.bool
}

// -----
// A list from outside, a position and a number of pieces that the run computes.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: torch.aten.__getitem__.t
func.func @kept(%l: !torch.list<vtensor<[2,4],f32>>, %x: !torch.vtensor<[6,4],f32>, %i: !torch.int, %n: !torch.int) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[?,4],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int-1 = torch.constant.int -1
  %0 = torch.aten.__getitem__.t %l, %int0 : !torch.list<vtensor<[2,4],f32>>, !torch.int -> !torch.vtensor<[2,4],f32>
  %m = torch.aten.split.Tensor %x, %int2, %int0 : !torch.vtensor<[6,4],f32>, !torch.int, !torch.int -> !torch.list<vtensor<[2,4],f32>>
  %1 = torch.aten.__getitem__.t %m, %i : !torch.list<vtensor<[2,4],f32>>, !torch.int -> !torch.vtensor<[2,4],f32>
  %k = torch.aten.chunk %x, %n, %int0 : !torch.vtensor<[6,4],f32>, !torch.int, !torch.int -> !torch.list<vtensor<[?,4],f32>>
  %2 = torch.aten.__getitem__.t %k, %int1 : !torch.list<vtensor<[?,4],f32>>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %0, %1, %2 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[?,4],f32>
}

// -----
// A list of a thousand million items is not written out, nor one longer than the option says.
// CHECK-LABEL: func.func @long
// CHECK: torch.aten.mul.left_t
// BOUND-LABEL: func.func @long
// BOUND: torch.aten.mul.left_t
// BOUND: torch.aten.mul.left_t
// BOUND: torch.aten.add.t
func.func @long(%i: !torch.int) -> (!torch.list<int>, !torch.list<int>, !torch.list<int>) {
  %int3 = torch.constant.int 3
  %many = torch.constant.int 1000000000
  %l = torch.prim.ListConstruct %i, %i : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.mul.left_t %l, %many : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: %[[SIX:.*]] = torch.prim.ListConstruct %arg0, %arg0, %arg0, %arg0, %arg0, %arg0 :
  %1 = torch.aten.mul.left_t %l, %int3 : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: %[[EIGHT:.*]] = torch.prim.ListConstruct %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0 :
  %2 = torch.aten.add.t %1, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  return %0, %1, %2 : !torch.list<int>, !torch.list<int>, !torch.list<int>
}
