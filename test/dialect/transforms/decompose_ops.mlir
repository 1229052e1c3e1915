// RUN: tierup-opt %s --split-input-file --tierup-decompose-ops --tierup-verify-graph --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-decompose-ops --tierup-decompose-ops --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-decompose-ops="only=aten.linear" | FileCheck %s --check-prefix=ONLY
// RUN: not tierup-opt %s --split-input-file --tierup-decompose-ops="only=aten.mm" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: option only: aten.mm is none of aten.addmm, aten.baddbmm, aten.linear, aten.layer_norm, aten.batch_norm

// CHECK-LABEL: func.func @products
// CHECK: [[M:%.+]] = torch.aten.mm %arg1, %arg2 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32> -> !torch.vtensor<[2,4],f32>
// CHECK-NEXT: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: [[A:%.+]] = torch.aten.add.Tensor [[M]], %arg0, [[ONE]] : {{.*}} -> !torch.vtensor<[2,4],f32>
// CHECK-NEXT: [[C:%.+]] = torch.tensor_static_info_cast [[A]] : !torch.vtensor<[2,4],f32> to !torch.vtensor
// CHECK: torch.aten.bmm
// CHECK: torch.aten.add.Tensor
// CHECK: [[T:%.+]] = torch.aten.t %arg4
// CHECK-NEXT: [[P:%.+]] = torch.aten.matmul %arg1, [[T]]
// CHECK: torch.aten.add.Tensor
// ONLY-LABEL: func.func @products
// ONLY: torch.aten.addmm
// ONLY: torch.aten.baddbmm
// ONLY-NOT: torch.aten.linear
func.func @products(%b: !torch.vtensor<[4],f32>, %x: !torch.vtensor<[2,3],f32>, %w: !torch.vtensor<[3,4],f32>, %p: !torch.vtensor<[1,2,2],si64>, %v: !torch.vtensor<[4,3],f32>)
    -> (!torch.vtensor, !torch.vtensor<[1,2,2],si64>, !torch.vtensor<[2,4],f32>) {
  %one = torch.constant.int 1
  %onef = torch.constant.float 1.000000e+00
  %0 = torch.aten.addmm %b, %x, %w, %one, %onef : !torch.vtensor<[4],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>, !torch.int, !torch.float -> !torch.vtensor
  %1 = torch.aten.baddbmm %p, %p, %p, %one, %one : !torch.vtensor<[1,2,2],si64>, !torch.vtensor<[1,2,2],si64>, !torch.vtensor<[1,2,2],si64>, !torch.int, !torch.int -> !torch.vtensor<[1,2,2],si64>
  %2 = torch.aten.linear %x, %v, %b : !torch.vtensor<[2,3],f32>, !torch.vtensor<[4,3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[2,4],f32>
  return %0, %1, %2 : !torch.vtensor, !torch.vtensor<[1,2,2],si64>, !torch.vtensor<[2,4],f32>
}

// -----
// CHECK-LABEL: func.func @layer_norm
// ONLY-LABEL: func.func @layer_norm
// CHECK: [[MEAN:%.+]] = torch.aten.mean.dim %arg0
// CHECK: [[D:%.+]] = torch.aten.sub.Tensor %arg0, [[MEAN]]
// CHECK: [[SQ:%.+]] = torch.aten.mul.Tensor [[D]], [[D]]
// CHECK: [[VAR:%.+]] = torch.aten.mean.dim [[SQ]]
// CHECK: [[EPS:%.+]] = torch.aten.add.Scalar [[VAR]], %float
// CHECK: [[R:%.+]] = torch.aten.rsqrt [[EPS]]
// CHECK: [[Y:%.+]] = torch.aten.mul.Tensor [[D]], [[R]]
// CHECK: [[W:%.+]] = torch.aten.mul.Tensor [[Y]], %arg1
// CHECK-NOT: torch.aten.add.Tensor
// CHECK: return [[W]]
func.func @layer_norm(%x: !torch.vtensor<[2,3,4],f32>, %w: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[2,3,4],f32> {
  %eps = torch.constant.float 1.000000e-05
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %none = torch.constant.none
  %false = torch.constant.bool false
  %s = torch.prim.ListConstruct %three, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.layer_norm %x, %s, %w, %none, %eps, %false : !torch.vtensor<[2,3,4],f32>, !torch.list<int>, !torch.vtensor<[3,4],f32>, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[2,3,4],f32>
  return %0 : !torch.vtensor<[2,3,4],f32>
}

// -----
// CHECK-LABEL: func.func @batch_norm
// CHECK: torch.aten.reshape %arg1
// CHECK: torch.aten.reshape %arg2
// CHECK: [[MEAN:%.+]] = torch.aten.reshape %arg3
// CHECK: [[VAR:%.+]] = torch.aten.reshape %arg4
// CHECK: torch.aten.sub.Tensor %arg0, [[MEAN]]
// CHECK: torch.aten.add.Scalar [[VAR]]
// CHECK: torch.aten.rsqrt
// CHECK-COUNT-2: torch.aten.mul.Tensor
// CHECK: torch.aten.add.Tensor
// CHECK-NOT: batch_norm
func.func @batch_norm(%x: !torch.vtensor<[2,3,4],f64>, %w: !torch.vtensor<[3],f64>, %b: !torch.vtensor<[3],f64>, %m: !torch.vtensor<[3],f64>, %v: !torch.vtensor<[3],f64>) -> !torch.vtensor<[2,3,4],f64> {
  %eps = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %0 = torch.aten.batch_norm %x, %w, %b, %m, %v, %false, %eps, %eps, %false : !torch.vtensor<[2,3,4],f64>, !torch.vtensor<[3],f64>, !torch.vtensor<[3],f64>, !torch.vtensor<[3],f64>, !torch.vtensor<[3],f64>, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor<[2,3,4],f64>
  return %0 : !torch.vtensor<[2,3,4],f64>
}

// -----
// Types are not known; alpha is not 1; the bias is longer than the product; half precision; training; NumPy's rules.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-5: torch.aten.addmm
// CHECK-NOT: torch.aten.mm
// CHECK: torch.aten.batch_norm
// CHECK: torch.aten.layer_norm
func.func @left(%u: !torch.vtensor, %b: !torch.vtensor<[4],f32>, %x: !torch.vtensor<[1,3],f32>, %w: !torch.vtensor<[3,1],f32>, %h: !torch.vtensor<[2,2],f16>, %n: !torch.int) {
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %eps = torch.constant.float 1.000000e-05
  %none = torch.constant.none
  %true = torch.constant.bool true
  %0 = torch.aten.addmm %u, %x, %w, %one, %one : !torch.vtensor, !torch.vtensor<[1,3],f32>, !torch.vtensor<[3,1],f32>, !torch.int, !torch.int -> !torch.vtensor
  %1 = torch.aten.addmm %x, %w, %x, %one, %two : !torch.vtensor<[1,3],f32>, !torch.vtensor<[3,1],f32>, !torch.vtensor<[1,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,3],f32>
  %2 = torch.aten.addmm %x, %w, %x, %n, %one : !torch.vtensor<[1,3],f32>, !torch.vtensor<[3,1],f32>, !torch.vtensor<[1,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,3],f32>
  %3 = torch.aten.addmm %h, %h, %h, %one, %one : !torch.vtensor<[2,2],f16>, !torch.vtensor<[2,2],f16>, !torch.vtensor<[2,2],f16>, !torch.int, !torch.int -> !torch.vtensor<[2,2],f16>
  %4 = torch.aten.addmm %x, %w, %x, %one, %one {tierup.promotion = "numpy"} : !torch.vtensor<[1,3],f32>, !torch.vtensor<[3,1],f32>, !torch.vtensor<[1,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,3],f32>
  %5 = torch.aten.batch_norm %x, %none, %none, %none, %none, %true, %eps, %eps, %true : !torch.vtensor<[1,3],f32>, !torch.none, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor<[1,3],f32>
  %s = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %6 = torch.aten.layer_norm %x, %s, %none, %none, %eps, %true : !torch.vtensor<[1,3],f32>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[1,3],f32>
  return
}

// -----
// Whether the bias fits only the run knows.
// CHECK-LABEL: func.func @may_not_fit
// CHECK: torch.aten.addmm
func.func @may_not_fit(%b: !torch.vtensor<[?],f32>, %x: !torch.vtensor<[2,3],f32>, %w: !torch.vtensor<[3,4],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %b, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %one = torch.constant.int 1
  %0 = torch.aten.addmm %b, %x, %w, %one, %one : !torch.vtensor<[?],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A bias with a row too many: addmm refuses it on every call, which is said and left.
// CHECK-LABEL: func.func @raises
// CHECK: torch.aten.addmm
func.func @raises(%b: !torch.vtensor<[4],f32>, %x: !torch.vtensor<[1,3],f32>, %w: !torch.vtensor<[3,1],f32>) -> !torch.vtensor {
  %one = torch.constant.int 1
  // expected-remark@below {{cannot run on operands of these types, so the function stays as it is}}
  %0 = torch.aten.addmm %b, %x, %w, %one, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[1,3],f32>, !torch.vtensor<[3,1],f32>, !torch.int, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// An operand whose dtype is not known may be one that the op refuses and its parts promote.
// CHECK-LABEL: func.func @unknown_dtypes
// CHECK-COUNT-3: torch.aten.addmm
// CHECK-COUNT-3: torch.aten.linear
// CHECK-COUNT-3: torch.aten.layer_norm
// CHECK-COUNT-5: torch.aten.batch_norm
// CHECK-NEXT: return
!u = !torch.vtensor<[4],unk>
!v = !torch.vtensor<[4],f32>
!m = !torch.vtensor<[4,4],f32>
!q = !torch.vtensor<[4,4],unk>
func.func @unknown_dtypes(%u: !u, %v: !v, %m: !m, %q: !q) {
  %one = torch.constant.int 1
  %four = torch.constant.int 4
  %none = torch.constant.none
  %eps = torch.constant.float 1.000000e-05
  %no = torch.constant.bool false
  %s = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.addmm %u, %m, %m, %one, %one : !u, !m, !m, !torch.int, !torch.int -> !torch.vtensor
  %1 = torch.aten.addmm %v, %q, %m, %one, %one : !v, !q, !m, !torch.int, !torch.int -> !torch.vtensor
  %2 = torch.aten.addmm %v, %m, %q, %one, %one : !v, !m, !q, !torch.int, !torch.int -> !torch.vtensor
  %3 = torch.aten.linear %q, %m, %v : !q, !m, !v -> !torch.vtensor
  %4 = torch.aten.linear %m, %q, %v : !m, !q, !v -> !torch.vtensor
  %5 = torch.aten.linear %m, %m, %u : !m, !m, !u -> !torch.vtensor
  %6 = torch.aten.layer_norm %q, %s, %v, %v, %eps, %no : !q, !torch.list<int>, !v, !v, !torch.float, !torch.bool -> !torch.vtensor
  %7 = torch.aten.layer_norm %m, %s, %u, %v, %eps, %no : !m, !torch.list<int>, !u, !v, !torch.float, !torch.bool -> !torch.vtensor
  %8 = torch.aten.layer_norm %m, %s, %v, %u, %eps, %no : !m, !torch.list<int>, !v, !u, !torch.float, !torch.bool -> !torch.vtensor
  %9 = torch.aten.batch_norm %q, %v, %v, %v, %v, %no, %eps, %eps, %no : !q, !v, !v, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %10 = torch.aten.batch_norm %m, %u, %v, %v, %v, %no, %eps, %eps, %no : !m, !u, !v, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %11 = torch.aten.batch_norm %m, %v, %u, %v, %v, %no, %eps, %eps, %no : !m, !v, !u, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %12 = torch.aten.batch_norm %m, %v, %v, %u, %v, %no, %eps, %eps, %no : !m, !v, !v, !u, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %13 = torch.aten.batch_norm %m, %v, %v, %v, %u, %no, %eps, %eps, %no : !m, !v, !v, !v, !u, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  return
}

// -----
// So may one whose size is not known; perhaps training; a linear map without a bias; half precision.
// CHECK-LABEL: func.func @unknown_sizes
// CHECK-COUNT-2: torch.aten.layer_norm
// CHECK-COUNT-5: torch.aten.batch_norm
// CHECK-COUNT-2: torch.aten.linear
// CHECK-NEXT: torch.aten.layer_norm
// CHECK-NEXT: torch.aten.batch_norm
// CHECK-NEXT: return
!u = !torch.vtensor<[?],f32>
!v = !torch.vtensor<[4],f32>
!m = !torch.vtensor<[4,4],f32>
!h = !torch.vtensor<[4,4],f16>
!p = !torch.vtensor<[4],f16>
func.func @unknown_sizes(%u: !u, %v: !v, %m: !m, %h: !h, %p: !p, %training: !torch.bool) {
  %four = torch.constant.int 4
  %none = torch.constant.none
  %eps = torch.constant.float 1.000000e-05
  %no = torch.constant.bool false
  %s = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.layer_norm %m, %s, %u, %v, %eps, %no : !m, !torch.list<int>, !u, !v, !torch.float, !torch.bool -> !torch.vtensor
  %1 = torch.aten.layer_norm %m, %s, %v, %u, %eps, %no : !m, !torch.list<int>, !v, !u, !torch.float, !torch.bool -> !torch.vtensor
  %2 = torch.aten.batch_norm %m, %u, %v, %v, %v, %no, %eps, %eps, %no : !m, !u, !v, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %3 = torch.aten.batch_norm %m, %v, %u, %v, %v, %no, %eps, %eps, %no : !m, !v, !u, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %4 = torch.aten.batch_norm %m, %v, %v, %u, %v, %no, %eps, %eps, %no : !m, !v, !v, !u, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %5 = torch.aten.batch_norm %m, %v, %v, %v, %u, %no, %eps, %eps, %no : !m, !v, !v, !v, !u, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %6 = torch.aten.batch_norm %m, %v, %v, %v, %v, %training, %eps, %eps, %no : !m, !v, !v, !v, !v, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  %7 = torch.aten.linear %m, %m, %none : !m, !m, !torch.none -> !torch.vtensor
  %8 = torch.aten.linear %h, %h, %p : !h, !h, !p -> !torch.vtensor
  %9 = torch.aten.layer_norm %h, %s, %none, %none, %eps, %no : !h, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor
  %10 = torch.aten.batch_norm %h, %none, %none, %p, %p, %no, %eps, %eps, %no : !h, !torch.none, !torch.none, !p, !p, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor
  return
}

// -----
// All dims are normalised, and both parameters are there.
// CHECK-LABEL: func.func @layer_norm_of_all
// CHECK-DAG: [[EPS:%.+]] = torch.constant.float 1.000000e-05
// CHECK: [[MEAN:%.+]] = torch.aten.mean.dim %arg0
// CHECK: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: [[D:%.+]] = torch.aten.sub.Tensor %arg0, [[MEAN]], [[ONE]]
// CHECK: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: torch.aten.add.Scalar {{%.+}}, [[EPS]], [[ONE]]
// CHECK: [[W:%.+]] = torch.aten.mul.Tensor {{%.+}}, %arg1
// CHECK-NEXT: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: [[B:%.+]] = torch.aten.add.Tensor [[W]], %arg2, [[ONE]]
// CHECK-NEXT: return [[B]]
func.func @layer_norm_of_all(%x: !torch.vtensor<[3,4],f32>, %w: !torch.vtensor<[3,4],f32>, %b: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %eps = torch.constant.float 1.000000e-05
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %false = torch.constant.bool false
  %s = torch.prim.ListConstruct %three, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.layer_norm %x, %s, %w, %b, %eps, %false : !torch.vtensor<[3,4],f32>, !torch.list<int>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>, !torch.float, !torch.bool -> !torch.vtensor<[3,4],f32>
  return %0 : !torch.vtensor<[3,4],f32>
}

// -----
// A matrix needs no reshape; without weight and bias there is no more to do.
// CHECK-LABEL: func.func @batch_norm_of_a_matrix
// CHECK-DAG: [[EPS:%.+]] = torch.constant.float 2.500000e-01
// CHECK-NOT: torch.aten.reshape
// CHECK: [[ONE:%.+]] = torch.constant.int 1
// CHECK-NEXT: [[D:%.+]] = torch.aten.sub.Tensor %arg0, %arg1, [[ONE]]
// CHECK: torch.aten.add.Scalar %arg2, [[EPS]],
// CHECK-NEXT: [[R:%.+]] = torch.aten.rsqrt
// CHECK-NEXT: [[Y:%.+]] = torch.aten.mul.Tensor [[D]], [[R]]
// CHECK-NEXT: return [[Y]]
func.func @batch_norm_of_a_matrix(%x: !torch.vtensor<[5,3],f32>, %m: !torch.vtensor<[3],f32>, %v: !torch.vtensor<[3],f32>) -> !torch.vtensor<[5,3],f32> {
  %momentum = torch.constant.float 5.000000e-01
  %eps = torch.constant.float 2.500000e-01
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.batch_norm %x, %none, %none, %m, %v, %false, %momentum, %eps, %false : !torch.vtensor<[5,3],f32>, !torch.none, !torch.none, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor<[5,3],f32>
  return %0 : !torch.vtensor<[5,3],f32>
}

// -----
// Integers are multiplied and added exactly.
// CHECK-LABEL: func.func @linear_of_integers
// CHECK: torch.aten.matmul
// CHECK: torch.aten.add.Tensor
func.func @linear_of_integers(%x: !torch.vtensor<[2,3],si64>, %w: !torch.vtensor<[4,3],si64>, %b: !torch.vtensor<[4],si64>) -> !torch.vtensor<[2,4],si64> {
  %0 = torch.aten.linear %x, %w, %b : !torch.vtensor<[2,3],si64>, !torch.vtensor<[4,3],si64>, !torch.vtensor<[4],si64> -> !torch.vtensor<[2,4],si64>
  return %0 : !torch.vtensor<[2,4],si64>
}
