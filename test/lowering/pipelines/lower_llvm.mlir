// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors --tierup-pipeline=lower-buffers --tierup-pipeline=lower-loops --tierup-pipeline=lower-llvm > %t.staged
// RUN: FileCheck %s < %t.staged
// The stages one by one are lower-cpu.
// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-cpu > %t.whole
// RUN: diff %t.staged %t.whole

// CHECK-DAG: llvm.func @malloc(i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @scipy_cblas_sgemm(
// CHECK: llvm.func internal @main(%arg0: !llvm.ptr {llvm.noalias},
// CHECK-NOT: {{(arith|memref|scf|cf|math|func|builtin|torch)\.[a-z]}}
// CHECK: llvm.call @scipy_cblas_sgemm
// CHECK: llvm.intr.maximum
// CHECK: llvm.intr.fma
// CHECK: llvm.fdiv
// CHECK: llvm.return
