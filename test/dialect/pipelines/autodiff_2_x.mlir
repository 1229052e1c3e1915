// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-2.x --tierup-pipeline=autodiff-2.x | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=autodiff-2.x --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Groups whose results require a gradient, each behind a check of what does. No profile is left.

// CHECK-LABEL: func.func @main
// CHECK-NOT: "tierup.profile"
// CHECK: [[C:%.+]]:3 = "tierup.check_requires_grad"(%arg1, %arg0) {requires_grad = [true, false]}
// CHECK: torch.prim.If [[C]]#2
// CHECK: "tierup.differentiable"([[C]]#0, [[C]]#1)
// CHECK: func.call @[[FORWARD:main_forward_[0-9]]]
// CHECK: func.call @[[BACKWARD:main_backward_[0-9]]]
// CHECK: } else {
// CHECK-NEXT: func.call @main_fallback_0(%arg1, %arg0)
// CHECK: torch.prim.If %arg2
// CHECK: "tierup.check_requires_grad"(%{{.+}}) {requires_grad = [true]}
// CHECK: "tierup.check_requires_grad"(%{{.+}}) {requires_grad = [true]}
// CHECK-NOT: "tierup.profile"
// CHECK: func.func private @[[FORWARD]](%{{.+}}: !torch.vtensor {tierup.requires_grad = false}, {{.*}}) -> {{.*}} attributes {tierup.forward}
// CHECK: torch.aten.mul.Tensor
// CHECK: torch.aten.tanh
// CHECK: func.func private @[[BACKWARD]]({{.*}}) -> !torch.vtensor attributes {tierup.backward}
// CHECK: op = "aten.tanh"
// CHECK: op = "aten.mul.Tensor"
// CHECK-NOT: "tierup.profile"

// STAGE: IR Dump After tierup-decide-gradient
// STAGE: IR Dump After tierup-create-differentiable-subgraphs
// STAGE: IR Dump After tierup-guard-differentiable
// STAGE: IR Dump After tierup-differentiate
// STAGE: IR Dump After tierup-clear-specializations
// STAGE: IR Dump After tierup-update-requires-grad
// STAGE: IR Dump After tierup-inline-differentiable
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-outline-fallbacks
// STAGE: IR Dump After tierup-remove-profiling
// STAGE: IR Dump After tierup-pack-gradient
// STAGE-NOT: IR Dump After
