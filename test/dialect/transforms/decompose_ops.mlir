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
