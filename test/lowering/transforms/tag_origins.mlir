// RUN: tierup-opt %s --tierup-tag-origins --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: tierup-opt %s --tierup-tag-origins --tierup-tag-origins --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK: torch.aten.tanh {{.*}} loc("torch.aten.tanh"("x.py":3:4))
// CHECK: torch.operator "aten.hypot"{{.*}} loc("torch.aten.hypot"("x.py":3:9))
// CHECK: return {{.*}} loc("func.return"("x.py":4:4))
func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32> loc("x.py":3:4)
  %1 = torch.operator "aten.hypot"(%0, %x) : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> loc("x.py":3:9)
  return %1 : !torch.vtensor<[4],f32> loc("x.py":4:4)
}
