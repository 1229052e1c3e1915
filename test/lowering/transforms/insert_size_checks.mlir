// RUN: tierup-opt %s --split-input-file --tierup-insert-size-checks | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-size-checks --tierup-insert-size-checks | FileCheck %s

// Division by each size leaves 1 of the count; a size that does not fit becomes 0, so that nothing is read.
// CHECK-LABEL: func.func @fills
// CHECK: [[LEAST:%.+]] = torch.aten.ge.int %arg1, %int0
// CHECK: [[DIVISOR:%.+]] = torch.prim.max.int %arg1, %int1
// CHECK: torch.aten.remainder.int %int12{{.*}}, [[DIVISOR]]
// CHECK-NEXT: {{.*}}int0
// CHECK: torch.aten.floordiv.int %int12{{.*}}, [[DIVISOR]]
// CHECK: torch.runtime.assert [[OK:%.+]], "the elements do not fill the shape"
// CHECK-NOT: torch.runtime.assert
// CHECK: [[SAFE:%.+]] = torch.prim.If [[OK]]
// CHECK-NEXT: torch.prim.If.yield %arg1
// CHECK: [[SIZES:%.+]] = torch.prim.ListConstruct [[SAFE]], %int4
// CHECK-NEXT: torch.aten.reshape %arg0, [[SIZES]]
func.func @fills(%x: !torch.vtensor<[12],f32>, %n: !torch.int) -> !torch.vtensor<[?,4],f32> {
  %int4 = torch.constant.int 4
  %0 = torch.prim.ListConstruct %n, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.reshape %x, %0 : !torch.vtensor<[12],f32>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}

// -----
// One size is inferred: the others are at least 1, and divide.
// CHECK-LABEL: func.func @infers
// CHECK: torch.aten.ge.int %arg1, %int1
// CHECK: torch.aten.remainder.int
// CHECK: torch.runtime.assert [[OK:%.+]],
// CHECK: [[SAFE:%.+]] = torch.prim.If [[OK]]
// CHECK: torch.prim.ListConstruct [[SAFE]], %int-1
// CHECK-NEXT: torch.aten.view
func.func @infers(%x: !torch.vtensor<[?,3],f32>, %n: !torch.int) -> !torch.vtensor<[?,?],f32> {
  %int-1 = torch.constant.int -1
  %0 = torch.prim.ListConstruct %n, %int-1 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.view %x, %0 : !torch.vtensor<[?,3],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %1 : !torch.vtensor<[?,?],f32>
}

// -----
// Sizes in front are at least 0; those of dims that are not 1 stay.
// CHECK-LABEL: func.func @expands
// CHECK: torch.aten.ge.int %arg1, %int0
// CHECK: torch.aten.eq.int %arg2, %int12
// CHECK: torch.runtime.assert [[OK:%.+]], "a size must match the existing size"
// CHECK: torch.aten.broadcast_to
func.func @expands(%x: !torch.vtensor<[12],f32>, %n: !torch.int, %m: !torch.int) -> !torch.vtensor<[?,12],f32> {
  %0 = torch.prim.ListConstruct %n, %m : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.broadcast_to %x, %0 : !torch.vtensor<[12],f32>, !torch.list<int> -> !torch.vtensor<[?,12],f32>
  return %1 : !torch.vtensor<[?,12],f32>
}

// -----
// Constants have been looked at before, and what is marked has been too.
// CHECK-LABEL: func.func @known
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @known(%x: !torch.vtensor<[12],f32>, %n: !torch.int) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[?,4],f32>) {
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %0 = torch.prim.ListConstruct %int3, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.reshape %x, %0 : !torch.vtensor<[12],f32>, !torch.list<int> -> !torch.vtensor<[3,4],f32>
  %2 = torch.prim.ListConstruct %n, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %3 = torch.aten.reshape %x, %2 {tierup.tied} : !torch.vtensor<[12],f32>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
  return %1, %3 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[?,4],f32>
}

// -----
// Both numbers of an identity, whose product may overflow.
// CHECK-LABEL: func.func @identity
// CHECK: torch.aten.ge.int %arg0, %int0
// CHECK: torch.aten.floordiv.int %int1073741824
// CHECK: torch.runtime.assert [[OK:%.+]], "a size is negative, or too large"
// CHECK: [[ROWS:%.+]] = torch.prim.If [[OK]]
// CHECK-NEXT: torch.prim.If.yield %arg0
// CHECK: [[COLUMNS:%.+]] = torch.prim.If [[OK]]
// CHECK-NEXT: torch.prim.If.yield %arg1
// CHECK: torch.aten.eye.m [[ROWS]], [[COLUMNS]]
func.func @identity(%n: !torch.int, %m: !torch.int) -> !torch.vtensor<[?,?],f64> {
  %int7 = torch.constant.int 7
  %none = torch.constant.none
  %0 = torch.aten.eye.m %n, %m, %int7, %none, %none, %none
    : !torch.int, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?,?],f64>
  return %0 : !torch.vtensor<[?,?],f64>
}

// -----
// The distance of the bounds is not negative, as one that overflows would be, and not too large; or else the range ends at once.
// CHECK-LABEL: func.func @range
// CHECK: torch.aten.ge.int %arg1, %arg0
// CHECK: [[DISTANCE:%.+]] = torch.aten.sub.int %arg1, %arg0
// CHECK: torch.aten.ge.int [[DISTANCE]], %int0
// CHECK: torch.aten.le.int [[DISTANCE]], %int1073741824
// CHECK: torch.runtime.assert [[OK:%.+]], "the bounds are too far apart"
// CHECK: torch.runtime.assert %{{.*}}, "upper bound
// CHECK: [[END:%.+]] = torch.prim.If [[OK]]
// CHECK-NEXT: torch.prim.If.yield %arg1
// CHECK: torch.prim.If.yield %arg0
// CHECK: torch.aten.arange.start %arg0, [[END]]
func.func @range(%n: !torch.int, %m: !torch.int) -> !torch.vtensor<[?],si64> {
  %none = torch.constant.none
  %0 = torch.aten.arange.start %n, %m, %none, %none, %none, %none
    : !torch.int, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  return %0 : !torch.vtensor<[?],si64>
}

// -----
// What the arguments tell may be negative; how large it is, the caller has seen.
// CHECK-LABEL: func.func @signs
// CHECK: torch.aten.ge.int
// CHECK-NOT: floordiv
// CHECK: torch.runtime.assert [[OK:%.+]], "a size is negative
// CHECK: torch.prim.If [[OK]]
func.func @signs(%n: !torch.int) -> !torch.vtensor<[?],f64> {
  %none = torch.constant.none
  %0 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %1 = torch.aten.zeros %0, %none, %none, %none, %none {tierup.known}
    : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f64>
  return %1 : !torch.vtensor<[?],f64>
}

// -----
// A size that is certain stays where the check of another fails: what follows from it of the array holds there, too.
// CHECK-LABEL: func.func @certain
// CHECK: %[[M:.*]] = torch.prim.If {{.*}} -> (!torch.int)
// CHECK: torch.prim.ListConstruct %[[M]], %arg1
func.func @certain(%m: !torch.int, %n: !torch.int) -> !torch.vtensor<[?,?],f32> {
  %none = torch.constant.none
  %l = torch.prim.ListConstruct %m, %n : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %l, %none, %none, %none, %none {tierup.certain = array<i64: 1>} : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}
