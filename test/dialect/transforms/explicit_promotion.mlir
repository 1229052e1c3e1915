// RUN: tierup-opt %s --tierup-explicit-promotion --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-explicit-promotion --tierup-explicit-promotion --split-input-file | FileCheck %s

// np.int32 + np.float32 is np.float64.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: %[[I:[a-z0-9]+]]: !torch.vtensor<[4],si32>, %[[X:[a-z0-9]+]]: !torch.vtensor<[4],f32>
func.func @casts(%i: !torch.vtensor<[4],si32>, %x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f64> {
  %int1 = torch.constant.int 1
  // CHECK: %[[A:.*]] = torch.aten.to.dtype %[[I]]
  // CHECK: %[[B:.*]] = torch.aten.to.dtype %[[X]]
  // CHECK: torch.aten.add.Tensor %[[A]], %[[B]], %{{.*}} : !torch.vtensor<[4],f64>, !torch.vtensor<[4],f64>, !torch.int -> !torch.vtensor<[4],f64>
  // CHECK-NOT: tierup.promotion
  %0 = torch.aten.add.Tensor %i, %x, %int1 {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f64>
  return %0 : !torch.vtensor<[4],f64>
}

// -----
// What nobody reads before it is written stays so.
// CHECK-LABEL: func.func @unread
func.func @unread() -> !torch.vtensor<[4],si64> {
  %int4 = torch.constant.int 4
  %none = torch.constant.none
  %0 = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  // CHECK: torch.aten.empty.memory_format {{.*}} {tierup.unread}
  %1 = torch.aten.empty.memory_format %0, %int4, %none, %none, %none, %none {tierup.promotion = "numpy", tierup.unread} : !torch.list<int>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[4],si64>
  return %1 : !torch.vtensor<[4],si64>
}

// -----
// An integer by zero is 0 in NumPy.
// CHECK-LABEL: func.func @division_by_zero
func.func @division_by_zero(%i: !torch.vtensor<[4],si32>, %j: !torch.vtensor<[4],si32>) -> !torch.vtensor<[4],si32> {
  // CHECK: %[[Z:.*]] = torch.aten.eq.Scalar %[[J:[a-z0-9]+]]
  // CHECK: %[[S:.*]] = torch.aten.where.ScalarSelf %[[Z]], %{{.*}}, %[[J]]
  // CHECK: %[[Q:.*]] = torch.aten.floor_divide %{{.*}}, %[[S]]
  // CHECK: torch.aten.where.ScalarSelf %[[Z]], %{{.*}}, %[[Q]]
  %0 = torch.aten.floor_divide %i, %j {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],si32> -> !torch.vtensor<[4],si32>
  return %0 : !torch.vtensor<[4],si32>
}

// -----
// A power of integers may be negative, which is an error in NumPy: left to tier 0. So is what has no known dtype.
// CHECK-LABEL: func.func @stays
func.func @stays(%i: !torch.vtensor<[4],si32>, %x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  // CHECK-NEXT: torch.aten.pow.Tensor_Tensor {{.*}} {tierup.promotion = "numpy"}
  // CHECK-NEXT: torch.aten.exp {{.*}} {tierup.promotion = "numpy"}
  // CHECK-NEXT: return
  %0 = torch.aten.pow.Tensor_Tensor %i, %i {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],si32> -> !torch.vtensor
  %1 = torch.aten.exp %x {tierup.promotion = "numpy"} : !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// -----
// One kernel serves both rules: only the attribute goes. Symbols stay symbols.
// CHECK-LABEL: func.func @symbols
func.func @symbols(%x: !torch.vtensor<[?],si64>) -> !torch.vtensor<[?],f64> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],si64>
  // CHECK: torch.aten.to.dtype {{.*}} -> !torch.vtensor<[?],f64>
  // CHECK: torch.aten.sigmoid {{.*}} : !torch.vtensor<[?],f64> -> !torch.vtensor<[?],f64>
  %0 = torch.aten.exp %x {tierup.promotion = "numpy"} : !torch.vtensor<[?],si64> -> !torch.vtensor<[?],f64>
  %1 = torch.aten.sigmoid %0 {tierup.promotion = "numpy"} : !torch.vtensor<[?],f64> -> !torch.vtensor<[?],f64>
  return %1 : !torch.vtensor<[?],f64>
}

// -----
// What is put in knows more of its type than the function says it gives: its callers see the old one.
// CHECK-LABEL: func.func private @called
// CHECK-SAME: -> !torch.vtensor {
// CHECK: %[[Z:.*]] = torch.aten.zeros
// CHECK-NOT: numpy
// CHECK: %[[C:.*]] = torch.tensor_static_info_cast %[[Z]] : !torch.vtensor<[2],f64> to !torch.vtensor
// CHECK: return %[[C]]
func.func private @called() -> !torch.vtensor {
  %two = torch.constant.int 2
  %l = torch.prim.ListConstruct %two : (!torch.int) -> !torch.list<int>
  %none = torch.constant.none
  %0 = torch.aten.zeros %l, %none, %none, %none, %none {tierup.promotion = "numpy"} : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func @calls() -> !torch.vtensor {
  %0 = call @called() : () -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// NumPy drops leading sizes of 1 from what it copies, torch refuses them: of unknown ranks nothing can be said.
// CHECK-LABEL: func.func @copy
// CHECK: torch.aten.copy %arg0, %arg1, %false {tierup.promotion = "numpy"}
// CHECK: %[[R:.*]] = torch.aten.select.int %arg3, %{{.*}}, %{{.*}} : !torch.vtensor<[1,3],f32>
// CHECK: torch.aten.copy %arg2, %[[R]], %false : !torch.vtensor<[3],f32>
// CHECK: torch.aten.copy %arg3, %arg2, %false : !torch.vtensor<[1,3],f32>
func.func @copy(%x: !torch.vtensor<*,f32>, %y: !torch.vtensor<*,f32>, %a: !torch.vtensor<[3],f32>, %b: !torch.vtensor<[1,3],f32>)
    -> (!torch.vtensor<*,f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[1,3],f32>) {
  %false = torch.constant.bool false
  %0 = torch.aten.copy %x, %y, %false {tierup.promotion = "numpy"} : !torch.vtensor<*,f32>, !torch.vtensor<*,f32>, !torch.bool -> !torch.vtensor<*,f32>
  %1 = torch.aten.copy %a, %b, %false {tierup.promotion = "numpy"} : !torch.vtensor<[3],f32>, !torch.vtensor<[1,3],f32>, !torch.bool -> !torch.vtensor<[3],f32>
  %2 = torch.aten.copy %b, %a, %false {tierup.promotion = "numpy"} : !torch.vtensor<[1,3],f32>, !torch.vtensor<[3],f32>, !torch.bool -> !torch.vtensor<[1,3],f32>
  return %0, %1, %2 : !torch.vtensor<*,f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[1,3],f32>
}

// -----
// A range the wrong way round is empty in NumPy, and an error in torch: an end that only the run knows does not pass the start.
// CHECK-LABEL: func.func @ranges
// CHECK: %[[E:.*]] = torch.prim.max.int %arg0, %{{.*}}
// CHECK: torch.aten.arange %[[E]]
// CHECK-NOT: numpy
// CHECK: %[[S:.*]] = torch.prim.min.int %arg1, %arg0
// CHECK: torch.aten.arange.start_step %arg0, %[[S]]
// CHECK: torch.aten.arange.start_step {{.*}}numpy
func.func @ranges(%n: !torch.int, %m: !torch.int) -> (!torch.vtensor<[?],si64>, !torch.vtensor<[?],si64>, !torch.vtensor<[?],si64>) {
  %none = torch.constant.none
  %down = torch.constant.int -2
  %0 = torch.aten.arange %n, %none, %none, %none, %none {tierup.promotion = "numpy"} : !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  %1 = torch.aten.arange.start_step %n, %m, %down, %none, %none, %none, %none {tierup.promotion = "numpy"} : !torch.int, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  %2 = torch.aten.arange.start_step %n, %m, %n, %none, %none, %none, %none {tierup.promotion = "numpy"} : !torch.int, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  return %0, %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[?],si64>, !torch.vtensor<[?],si64>
}

// -----
// np.squeeze gives the very array where no size is 1, torch.squeeze another; where sizes are not known it stays NumPy's.
// CHECK-LABEL: func.func @squeezed
// CHECK-SAME: %[[X:[^:]+]]: !torch.vtensor<[3],f32>, %[[Y:[^:]+]]: !torch.vtensor<[3,1],f32>, %[[Z:[^:]+]]: !torch.vtensor
// CHECK: %[[S:.+]] = torch.aten.squeeze %[[Y]] : !torch.vtensor<[3,1],f32>
// CHECK: %[[T:.+]] = torch.aten.squeeze %[[Z]] {tierup.promotion = "numpy"}
// CHECK: return %[[X]], %[[S]], %[[T]]
func.func @squeezed(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3,1],f32>, %z: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.squeeze %x {tierup.promotion = "numpy"} : !torch.vtensor<[3],f32> -> !torch.vtensor
  %1 = torch.aten.squeeze %y {tierup.promotion = "numpy"} : !torch.vtensor<[3,1],f32> -> !torch.vtensor
  %2 = torch.aten.squeeze %z {tierup.promotion = "numpy"} : !torch.vtensor -> !torch.vtensor
  return %0, %1, %2 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// np.take of an array that has no elements along an axis before that of the indices looks at none, x[:, i] does: it stays NumPy's, or takes
// the first where the run finds out.
// CHECK-LABEL: func.func @taken
// CHECK: torch.aten.index_select {{.*}} {tierup.promotion = "numpy"} : !torch.vtensor<[0,3],f32>
// CHECK: torch.aten.index_select {{.*}} {tierup.promotion = "numpy"} : !torch.vtensor<[0,3],f32>
// CHECK: torch.aten.index.Tensor %{{.+}} : !torch.vtensor<[2,3],f32>
// CHECK: torch.aten.size.int
// CHECK: torch.aten.gt.int
// CHECK: torch.aten.mul.Scalar
// CHECK: torch.prim.ListConstruct
// CHECK-NEXT: torch.aten.index.Tensor %{{.+}} : !torch.vtensor<[?,3],f32>
func.func @taken(%x: !torch.vtensor<[0,3],f32>, %y: !torch.vtensor<[2,3],f32>, %z: !torch.vtensor<[?,3],f32>, %i: !torch.vtensor<[2],si64>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  %last = torch.constant.int -1
  %0 = torch.aten.index_select %x, %one, %i {tierup.promotion = "numpy"} : !torch.vtensor<[0,3],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor
  %1 = torch.aten.index_select %x, %last, %i {tierup.promotion = "numpy"} : !torch.vtensor<[0,3],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor
  %2 = torch.aten.index_select %y, %one, %i {tierup.promotion = "numpy"} : !torch.vtensor<[2,3],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor
  %3 = torch.aten.index_select %z, %one, %i {tierup.promotion = "numpy"} : !torch.vtensor<[?,3],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor
  return %0, %1, %2, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}
