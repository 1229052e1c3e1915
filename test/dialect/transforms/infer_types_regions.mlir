// RUN: tierup-opt %s --split-input-file --tierup-infer-types --tierup-verify-guarded --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-infer-types --tierup-infer-types --verify-diagnostics | FileCheck %s

// Pieces as aten.chunk cuts them.
// CHECK-LABEL: func.func @constant_chunk
// CHECK: "tierup.constant_chunk"(%arg0) {{.*}} -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,1],f32>)
func.func @constant_chunk(%x: !torch.vtensor<[2,5],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %0:3 = "tierup.constant_chunk"(%x) {chunks = 3 : i64, dim = 1 : i64} : (!torch.vtensor<[2,5],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
  return %0#0, %0#2 : !torch.vtensor, !torch.vtensor
}

// -----
// Of a differentiable group the forward region, what backward takes, and what follows behind it.
// CHECK-LABEL: func.func @differentiable
// CHECK-SAME: -> !torch.vtensor<[5,2],f32>
// CHECK: "tierup.check_requires_grad"([[T:%.+]]) {{.*}} -> (!torch.vtensor<[5,2],f32>, !torch.bool)
// CHECK: ^bb0(%{{.+}}: !torch.vtensor<[5,2],f32>):
// CHECK: torch.aten.exp %{{.+}} : !torch.vtensor<[5,2],f32> -> !torch.vtensor<[5,2],f32>
// CHECK: ^bb0(%{{.+}}: !torch.vtensor<[5,2],f32>, %{{.+}}: !torch.vtensor<[5,2],f32>, %{{.+}}: !torch.vtensor<[5,2],f32>):
// CHECK: torch.aten.tanh %{{.+}} : !torch.vtensor<[5,2],f32> -> !torch.vtensor<[5,2],f32>
func.func @differentiable(%x: !torch.vtensor<[2,5],f32>) -> !torch.vtensor {
  %0 = torch.aten.t %x : !torch.vtensor<[2,5],f32> -> !torch.vtensor
  %v, %ok = "tierup.check_requires_grad"(%0) {requires_grad = [true]} : (!torch.vtensor) -> (!torch.vtensor, !torch.bool)
  %1 = "tierup.differentiable"(%v) ({
  ^bb0(%a: !torch.vtensor):
    %2 = torch.aten.exp %a : !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2, %2) : (!torch.vtensor, !torch.vtensor) -> ()
  }, {
  ^bb0(%g: !torch.vtensor, %b: !torch.vtensor, %c: !torch.vtensor):
    %2 = torch.aten.mul.Tensor %g, %c : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%2) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64: 0>, captured_outputs = array<i64: 1>, gradient_inputs = array<i64: 0>} : (!torch.vtensor) -> !torch.vtensor
  %3 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
func.func @chunk_of_rank_0(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor {
  %none = torch.constant.none
  %s = torch.aten.sum %x, %none : !torch.vtensor<[2],f32>, !torch.none -> !torch.vtensor
  // expected-error@below {{cannot run on operands of these types: chunk expects at least a 1-dimensional tensor}}
  %0:2 = "tierup.constant_chunk"(%s) {chunks = 2 : i64, dim = 1 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
  return %0#0 : !torch.vtensor
}

// -----
func.func @another_number_of_chunks(%x: !torch.vtensor<[6],f32>) -> !torch.vtensor {
  // expected-error@below {{cannot run on operands of these types: 4 values are taken out of 3}}
  %0:4 = "tierup.constant_chunk"(%x) {chunks = 4 : i64, dim = 0 : i64} : (!torch.vtensor<[6],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor)
  return %0#0 : !torch.vtensor
}

// -----
// A choice between two values is known where the prim.If that it was is: by its condition, or where both values say the same.
// CHECK-LABEL: func.func @if_then_else
// CHECK-SAME: -> (!torch.vtensor<[1,3],f32>, !torch.vtensor<[?,3],f32>, !torch.vtensor<[2,3],f32>)
func.func @if_then_else(%x: !torch.vtensor<[4,3],f32>, %n: !torch.int, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %true = torch.constant.bool true
  %0 = "tierup.if_then_else"(%true, %int1, %n) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
  %1 = torch.aten.slice.Tensor %x, %int0, %int0, %0, %int1 : !torch.vtensor<[4,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  %2 = "tierup.if_then_else"(%c, %int1, %int2) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
  %3 = torch.aten.slice.Tensor %x, %int0, %int0, %2, %int1 : !torch.vtensor<[4,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  %4 = "tierup.if_then_else"(%c, %int2, %int2) : (!torch.bool, !torch.int, !torch.int) -> !torch.int
  %5 = torch.aten.slice.Tensor %x, %int0, %int0, %4, %int1 : !torch.vtensor<[4,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  return %1, %3, %5 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}
