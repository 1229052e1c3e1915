// RUN: tierup-opt %S/../pipelines/inputs/softmax_of_product.mlir --tierup-pipeline=lower-nvvm | FileCheck %s
// RUN: tierup-opt %S/../pipelines/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors --tierup-pipeline=lower-gpu-buffers | FileCheck %s --check-prefix=BUFFERS
// RUN: tierup-opt %S/../pipelines/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors --tierup-pipeline=lower-gpu-buffers --tierup-pipeline=lower-gpu-kernels | FileCheck %s --check-prefix=KERNELS

// The product is tiles already, what follows it is a loop over rows.
// BUFFERS-LABEL: func.func @main
// BUFFERS-NOT: tensor<
// BUFFERS: gpu.launch
// BUFFERS: scf.for
// BUFFERS: linalg.generic
// BUFFERS: {tierup.rows}

// The host launches; the kernels compute, with exp written out.
// KERNELS-LABEL: func.func @main
// KERNELS-NOT: linalg.
// KERNELS: gpu.launch_func @kernels::@main_
// KERNELS: gpu.launch_func @kernels::@main_
// KERNELS: return
// KERNELS: gpu.module @kernels
// KERNELS: gpu.func @main_
// KERNELS: gpu.shuffle
// KERNELS-NOT: math.exp
// KERNELS: gpu.return

// Nothing of gpu, scf or memref is left in kernels.
// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@main_
// CHECK: gpu.module @kernels
// CHECK-NOT: {{ (gpu|scf|memref|arith|math)\.[a-z]+ }}
// CHECK: llvm.func @main_{{.*}}nvvm.kernel
// CHECK: nvvm.shfl.sync
// CHECK: nvvm.barrier
