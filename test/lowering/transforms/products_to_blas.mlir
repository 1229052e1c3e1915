// RUN: tierup-opt %s --split-input-file --tierup-products-to-blas | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-products-to-blas --tierup-products-to-blas | FileCheck %s
// RUN: tierup-opt %s --split-input-file --pass-pipeline="builtin.module(tierup-products-to-blas{loops-up-to=0})" | FileCheck %s --check-prefix=CALLS

// CALLS-LABEL: func.func @small
// CALLS: call @scipy_cblas_sgemm

// Row major, left as it is, right transposed, sizes, 1 and 0, pointers and distances of lines. What is known when compiling is not checked.
// CHECK-LABEL: func.func @static
// CHECK-NOT: cf.assert
// CHECK: [[M:%.+]] = arith.index_cast %c32 : index to i32
// CHECK: call @scipy_cblas_sgemm(%c101_i32, %c111_i32, %c112_i32, [[M]], {{.*}}, %cst, {{.*}}, {{.*}}, {{.*}}, {{.*}}, %cst_
// CHECK-NOT: linalg.matmul
func.func @static(%x: memref<32x40xf32>, %w: memref<64x40xf32>, %o: memref<32x64xf32>) {
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {tierup.overwrites} ins(%x, %w : memref<32x40xf32>, memref<64x40xf32>) outs(%o : memref<32x64xf32>)
  return
}

// -----
// One call per batch; a matrix that lies in neither rows nor columns is copied; sizes that BLAS's ints can't hold are an error site.
// CHECK-LABEL: func.func @dynamic
// CHECK: scf.for [[B:%.+]] = %{{.+}} to %dim
// CHECK: memref.subview %arg0{{\[}}[[B]], 0, 0]
// CHECK: [[W:%.+]] = memref.subview %arg1{{\[}}[[B]], 0, 0]
// CHECK: memref.copy [[W]], %alloc
// CHECK-COUNT-6: cf.assert %{{.+}}, "a size beyond 32 bits in a matrix product"
// CHECK-NOT: cf.assert
// CHECK: func.call @scipy_cblas_dgemm(%c101_i32, %c111_i32, %c111_i32_{{[0-9]+}},
// CHECK-NOT: linalg.batch_matmul
func.func @dynamic(%x: memref<?x?x?xf64>, %w: memref<?x?x?xf64, strided<[?, ?, ?], offset: ?>>, %o: memref<?x?x?xf64>) {
  linalg.batch_matmul {tierup.overwrites} ins(%x, %w : memref<?x?x?xf64>, memref<?x?x?xf64, strided<[?, ?, ?], offset: ?>>) outs(%o : memref<?x?x?xf64>)
  return
}

// -----
// Few multiplications, known when compiling: loops in the order m, k, n.
// CHECK-LABEL: func.func @small
// CHECK-NOT: call
// CHECK: linalg.yield %cst
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0, %arg1 : {{.*}}) outs(%arg2
// CHECK: arith.mulf {{.*}} fastmath<reassoc,contract>
// CHECK-NEXT: arith.addf {{.*}} fastmath<reassoc,contract>
// CHECK-NOT: linalg.matmul
func.func @small(%x: memref<2x3xf32>, %w: memref<3x4xf32>, %o: memref<2x4xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %w : memref<2x3xf32>, memref<3x4xf32>) outs(%o : memref<2x4xf32>)
  return
}

// -----
// A left operand in columns is a transposed one in rows; a result in columns is written in rows and copied.
// CHECK-LABEL: func.func @columns
// CHECK: [[ROWS:%.+]] = memref.alloc() : memref<32x64xf32>
// CHECK: call @scipy_cblas_sgemm(%c101_i32, %c112_i32, %c111_i32
// CHECK-NEXT: memref.copy [[ROWS]], %arg2
func.func @columns(%x: memref<32x40xf32, strided<[1, 32]>>, %w: memref<40x64xf32>, %o: memref<32x64xf32, strided<[1, 32]>>) {
  linalg.matmul {tierup.overwrites} ins(%x, %w : memref<32x40xf32, strided<[1, 32]>>, memref<40x64xf32>) outs(%o : memref<32x64xf32, strided<[1, 32]>>)
  return
}

// -----
// A product that adds to what its buffer holds is not one that BLAS is asked for here.
// CHECK-LABEL: func.func @adds
// CHECK-NEXT: linalg.matmul ins
// CHECK-NEXT: return
func.func @adds(%x: memref<32x40xf32>, %w: memref<40x64xf32>, %o: memref<32x64xf32>) {
  linalg.matmul ins(%x, %w : memref<32x40xf32>, memref<40x64xf32>) outs(%o : memref<32x64xf32>)
  return
}

// -----
// One row is the matrix, transposed, times a vector; one column of a matrix that is read transposed too. Vectors that stand in a column of
// something wider have a step.
// CHECK-LABEL: func.func @vectors
// CHECK-DAG: [[ROW_MAJOR:%.+]] = arith.constant 101 : i32
// CHECK: call @scipy_cblas_sgemv([[ROW_MAJOR]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) : (i32, i32, i32, i32, f32, !llvm.ptr, i32, !llvm.ptr, i32, f32, !llvm.ptr, i32) -> ()
// CHECK: call @scipy_cblas_sgemv
// CHECK-NOT: call @scipy_cblas_sgemm
func.func @vectors(%x: memref<1x200xf32>, %w: memref<200x60xf32>, %row: memref<1x60xf32>, %column: memref<200x1xf32, strided<[7, 1]>>, %out: memref<60x1xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %w : memref<1x200xf32>, memref<200x60xf32>) outs(%row : memref<1x60xf32>)
  linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      {tierup.overwrites}
      ins(%w, %column : memref<200x60xf32>, memref<200x1xf32, strided<[7, 1]>>) outs(%out : memref<60x1xf32>)
  return
}

// -----
// Whether there is anything to sum, only the run knows: gemm writes zeros where there is not.
// CHECK-LABEL: func.func @maybe_of_nothing
// CHECK: call @scipy_cblas_sgemm(
func.func @maybe_of_nothing(%x: memref<1x?xf32>, %w: memref<?x60xf32>, %row: memref<1x60xf32>) {
  linalg.matmul {tierup.overwrites} ins(%x, %w : memref<1x?xf32>, memref<?x60xf32>) outs(%row : memref<1x60xf32>)
  return
}
