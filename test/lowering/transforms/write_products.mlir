// RUN: tierup-opt %s --tierup-write-products | FileCheck %s
// RUN: tierup-opt %s --tierup-write-products --tierup-write-products | FileCheck %s

// Two rows by two vectors of 16: rows behind the last are the last, columns behind it are masked.
// CHECK-LABEL: func.func private @product_f32_direct_2x2
// CHECK-SAME: (%[[ROWS:.+]]: index, %[[COLUMNS:.+]]: index, %[[DEPTH:.+]]: index, %[[ROW:.+]]: index, %[[COLUMN:.+]]: index, %[[LINE:.+]]: index, %{{.+}}: index, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr)
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[COLUMNS]] step %c32
// CHECK-COUNT-2: arith.cmpi slt, %{{.+}} : vector<16xi32>
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[ROWS]] step %c2
// CHECK-COUNT-2: arith.minui
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[DEPTH]] step %{{.+}} iter_args(
// CHECK-COUNT-2: llvm.intr.masked.load
// CHECK-COUNT-4: llvm.intr.fma
// CHECK: scf.yield
// CHECK-COUNT-4: llvm.intr.masked.store
func.func private @product_f32_direct_2x2(index, index, index, index, index, index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {element = f32, kind = "direct", rows = 2 : i64, vectors = 2 : i64, whole = false}}

// A strip of 128 lines of 8 doubles; a sum of nothing is stored once, too.
// CHECK-LABEL: func.func private @product_f64_packed_8x1
// CHECK: llvm.alloca %c1024_i64 x f64 {alignment = 64 : i64}
// CHECK: [[ONCE:%.+]] = arith.maxui %{{.+}}, %c1{{.*}} : index
// CHECK: scf.for %{{.+}} = %{{.+}} to [[ONCE]] step %c128
// CHECK-COUNT-8: llvm.intr.fma
func.func private @product_f64_packed_8x1(index, index, index, index, index, index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {element = f64, kind = "packed", rows = 8 : i64, vectors = 1 : i64, whole = false}}

// Eight lines of the matrix become columns of the strip: three rounds of eight, in which elements of two lines take turns.
// CHECK-LABEL: func.func private @product_f64_transposed_1x1
// CHECK-COUNT-8: llvm.intr.masked.load
// CHECK: llvm.shufflevector %{{.+}}, %{{.+}} [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK-NEXT: llvm.shufflevector %{{.+}}, %{{.+}} [4, 12, 5, 13, 6, 14, 7, 15]
// CHECK-COUNT-22: llvm.shufflevector
// CHECK: llvm.store
func.func private @product_f64_transposed_1x1(index, index, index, index, index, index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {element = f64, kind = "transposed", rows = 1 : i64, vectors = 1 : i64, whole = false}}

// Sums along lines whose length is a multiple of a vector's need no mask.
// CHECK-LABEL: func.func private @product_f32_dots_2x3_whole
// CHECK-NOT: masked
// CHECK-COUNT-6: llvm.intr.fma
// CHECK-COUNT-6: llvm.intr.vector.reduce.fadd
func.func private @product_f32_dots_2x3_whole(index, index, index, index, index, index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {element = f32, kind = "dots", rows = 2 : i64, vectors = 3 : i64, whole = true}}

// What no pass asked for stays a declaration.
// CHECK: func.func private @other(index)
// CHECK-NOT: {
func.func private @other(index)
