// RUN: tierup-opt %s --split-input-file --tierup-fuse-rows --canonicalize | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fuse-rows --tierup-fuse-rows --canonicalize | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// One loop; each op sees its row; the maxima, which nobody else reads, are one number on the stack.
// CHECK-LABEL: func.func @maximum_then_exp
// CHECK-DAG: [[C64:%.+]] = arith.constant 64 : index
// CHECK: [[MAX:%.+]] = memref.alloca() {{.*}} : memref<f32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for [[I:%.+]] = %c0 to [[C64]] step %c1 {
// CHECK-NEXT: linalg.fill ins(%cst : f32) outs([[MAX]] : memref<f32>)
// CHECK-NEXT: [[X:%.+]] = memref.subview %arg0{{\[}}[[I]], 0] [1, 128] [1, 1]
// CHECK-NEXT: linalg.generic {{.*}}iterator_types = ["reduction"]} ins([[X]] : {{.*}}) outs([[MAX]] : memref<f32>)
// CHECK: [[E:%.+]] = memref.subview %arg1{{\[}}[[I]], 0] [1, 128] [1, 1]
// CHECK-NEXT: linalg.generic {{.*}}iterator_types = ["parallel"]} ins([[X]], [[MAX]] : {{.*}}) outs([[E]] :
// CHECK: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @maximum_then_exp(%x: memref<64x128xf32>, %e: memref<64x128xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %low = arith.constant 0xFF800000 : f32
  %max = memref.alloc() : memref<64xf32>
  linalg.fill ins(%low : f32) outs(%max : memref<64xf32>)
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x128xf32>) outs(%max : memref<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %max : memref<64x128xf32>, memref<64xf32>) outs(%e : memref<64x128xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  }
  memref.dealloc %max : memref<64xf32>
  return
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Sizes known at run time only: the same when they follow from one value. A row of unknown length is allocated where the rows were, and
// freed where they were. A failed check may be reported in between.
// CHECK-LABEL: func.func @sizes_of_the_run
// CHECK: [[N:%.+]] = memref.dim %arg0, %c1
// CHECK-NEXT: [[WIDE:%.+]] = memref.alloc([[N]]) {{.*}} : memref<?xf32>
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.+}}, %arg2[]
// CHECK-NEXT: }
// CHECK: [[M:%.+]] = memref.dim %arg0, %c0
// CHECK-NEXT: scf.for [[I:%.+]] = %c0 to [[M]] step %c1 {
// CHECK-NOT: scf.for
// CHECK: outs([[WIDE]] : memref<?xf32>)
// CHECK: linalg.fill {{.*}} : memref<f32>
// CHECK: ins([[WIDE]] : memref<?xf32>) outs(%{{.+}} : memref<f32>)
// CHECK: ins([[WIDE]], %{{.+}} : memref<?xf32>, memref<f32>)
// CHECK: }
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc [[WIDE]] : memref<?xf32>
// CHECK-NEXT: return
func.func @sizes_of_the_run(%x: memref<?x?xf16>, %y: memref<?x?xf16>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %site = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c0 : memref<?x?xf16>
  %n = memref.dim %x, %c1 : memref<?x?xf16>
  %wide = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf16>) outs(%wide : memref<?x?xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  }
  %empty = arith.cmpi sle, %n, %c0 : index
  scf.if %empty {
    memref.store %site, %status[] : memref<i32>
  }
  %sum = memref.alloc(%m) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%wide : memref<?x?xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%wide, %sum : memref<?x?xf32>, memref<?xf32>) outs(%y : memref<?x?xf16>) {
  ^bb0(%in: f32, %s: f32, %out: f16):
    %0 = arith.divf %in, %s : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  }
  memref.dealloc %wide : memref<?x?xf32>
  memref.dealloc %sum : memref<?xf32>
  return
}

// -----
#all = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>

// Batches of rows: a loop in a loop, and what was a batch of rows is one row. Positions along the taken axes are the loops'.
// CHECK-LABEL: func.func @batches
// CHECK-DAG: [[SUM:%.+]] = memref.alloca() {{.*}} : memref<f32>
// CHECK-DAG: [[SQUARES:%.+]] = memref.alloca() {{.*}} : memref<5xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for [[B:%.+]] = %c0 to %c3 step %c1 {
// CHECK: scf.for [[I:%.+]] = %c0 to %c4 step %c1 {
// CHECK: outs([[SQUARES]] : memref<5xf32>)
// CHECK: arith.index_cast [[I]] : index to i32
// CHECK: linalg.index 0 : index
// CHECK: outs([[SUM]] : memref<f32>)
// CHECK: ins([[SQUARES]] : memref<5xf32>) outs([[SUM]] : memref<f32>)
// CHECK: ins([[SQUARES]], [[SUM]] :
// CHECK-NOT: scf.for
// CHECK: return
func.func @batches(%x: memref<3x4x5xf32>, %y: memref<3x4x5xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %zero = arith.constant 0.0 : f32
  %squares = memref.alloc() : memref<3x4x5xf32>
  %sum = memref.alloc() : memref<3x4xf32>
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<3x4x5xf32>) outs(%squares : memref<3x4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %i32 = arith.index_cast %i : index to i32
    %f = arith.sitofp %i32 : i32 to f32
    %j = linalg.index 2 : index
    %j32 = arith.index_cast %j : index to i32
    %g = arith.sitofp %j32 : i32 to f32
    %0 = arith.mulf %in, %f : f32
    %1 = arith.addf %0, %g : f32
    linalg.yield %1 : f32
  }
  linalg.fill ins(%zero : f32) outs(%sum : memref<3x4xf32>)
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%squares : memref<3x4x5xf32>) outs(%sum : memref<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%squares, %sum : memref<3x4x5xf32>, memref<3x4xf32>) outs(%y : memref<3x4x5xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %0 = arith.divf %in, %s : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %squares : memref<3x4x5xf32>
  memref.dealloc %sum : memref<3x4xf32>
  return
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// In a loop of the program: the stack is taken once, before it. What the loop carries is no memory that is allocated in its body.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: [[SUM:%.+]] = memref.alloca() {{.*}} : memref<f32>
// CHECK: scf.for {{.*}} iter_args([[V:%.+]] = %arg0)
// CHECK-NOT: memref.alloca
// CHECK: [[NEW:%.+]] = memref.alloc() : memref<4x8xf32>
// CHECK-NEXT: scf.for
// CHECK: memref.subview [[V]]
// CHECK: memref.subview [[NEW]]
// CHECK: scf.yield [[NEW]]
func.func @in_a_loop(%x: memref<4x8xf32>, %n: index) -> memref<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%v = %x) -> memref<4x8xf32> {
    %sum = memref.alloc() : memref<4xf32>
    %new = memref.alloc() : memref<4x8xf32>
    linalg.fill ins(%zero : f32) outs(%sum : memref<4xf32>)
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%v : memref<4x8xf32>) outs(%sum : memref<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%v, %sum : memref<4x8xf32>, memref<4xf32>) outs(%new : memref<4x8xf32>) {
    ^bb0(%in: f32, %s: f32, %out: f32):
      %0 = arith.divf %in, %s : f32
      linalg.yield %0 : f32
    }
    memref.dealloc %sum : memref<4xf32>
    scf.yield %new : memref<4x8xf32>
  }
  return %r : memref<4x8xf32>
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A row of more than the stack is good for stays in memory; a result is written in place; a copy is a member; a row that all rows
// share is read whole.
// CHECK-LABEL: func.func @kinds_of_buffers
// CHECK: [[LONG:%.+]] = memref.alloc() {{.*}} : memref<4096xf32>
// CHECK: scf.for
// CHECK: memref.copy %{{.+}}, [[LONG]] : memref<4096xf32, {{.*}}> to memref<4096xf32>
// CHECK: ins([[LONG]], %arg1 : memref<4096xf32>, memref<4096xf32>) outs(%{{.+}} : memref<f32, strided<[], offset: ?>>)
// CHECK: memref.dealloc [[LONG]] : memref<4096xf32>
func.func @kinds_of_buffers(%x: memref<4x4096xf32, strided<[?, ?], offset: ?>>, %w: memref<4096xf32>, %y: memref<4xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %zero = arith.constant 0.0 : f32
  %long = memref.alloc() : memref<4x4096xf32>
  memref.copy %x, %long : memref<4x4096xf32, strided<[?, ?], offset: ?>> to memref<4x4096xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : memref<4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> (j)>, #row], iterator_types = ["parallel", "reduction"]} ins(%long, %w : memref<4x4096xf32>, memref<4096xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %k: f32, %out: f32):
    %0 = arith.mulf %in, %k : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  memref.dealloc %long : memref<4x4096xf32>
  return
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A number that is the size of a buffer, and the buffer: as many rows.
// CHECK-LABEL: func.func @a_size_and_what_it_is_of
// CHECK: scf.for
// CHECK: linalg.fill {{.*}} : memref<f32>
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-NOT: scf.for
// CHECK: return
func.func @a_size_and_what_it_is_of(%x: memref<?x8xf32>, %y: memref<?x8xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c0 : memref<?x8xf32>
  %sum = memref.alloc(%m) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y : memref<?x8xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%sum : memref<?xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%s: f32, %out: f32):
    %0 = arith.divf %out, %s : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %sum : memref<?xf32>
  return
}
