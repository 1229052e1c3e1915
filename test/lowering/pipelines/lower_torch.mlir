// RUN: tierup-opt %S/inputs/softmax_of_product.mlir --tierup-pipeline=lower-torch | FileCheck %s
// Nothing of torch is left: tensors, numbers, loops over elements, assertions.

// CHECK-LABEL: func.func @main(%arg0: tensor<?x8xf32>, %arg1: tensor<16x8xf32>, %arg2: i64) -> (tensor<?x16xf32>, i64)
// CHECK-SAME: tierup.result_kinds = ["buffer", "scalar"]
// CHECK-NOT: torch.
// CHECK: cf.assert %{{.+}}, "index out of range"
// CHECK: [[T:%.+]] = linalg.generic {{.*}} ins(%arg1 : tensor<16x8xf32>) outs(%{{.+}} : tensor<8x16xf32>)
// CHECK: [[P:%.+]] = linalg.matmul ins(%arg0, [[T]] :
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins([[P]] :
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]}
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: arith.addi %arg2, %c1_i64 : i64
// CHECK-NOT: torch.
