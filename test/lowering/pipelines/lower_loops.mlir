// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch --tierup-pipeline=lower-tensors --tierup-pipeline=lower-buffers --tierup-pipeline=lower-loops | FileCheck %s
// Scalars in loops: the rows, and in each row the maximum, exp written out, the sum, the quotients.

// CHECK-LABEL: func.func @main
// CHECK-NOT: linalg.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: arith.bitcast
// CHECK: scf.for
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc> : f32
// CHECK: scf.for
// CHECK: arith.divf
// CHECK-NOT: scf.for
// CHECK-NOT: linalg.
