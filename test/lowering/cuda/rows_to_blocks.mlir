// RUN: tierup-opt %s --split-input-file --tierup-rows-to-blocks --canonicalize --cse | FileCheck %s

// Softmax but for its sum: the maximum is in a register of each thread, a row's elements are in four of the 32, the exponentials too: what
// was read is not read again, nobody waits, and four rows share a block.
// CHECK-LABEL: func.func @maximum_and_exp
// CHECK: gpu.launch blocks([[B:%[a-z0-9]+]], {{.*}} = %c16, {{.*}}) threads([[T:%[a-z0-9]+]], [[R:%[a-z0-9]+]], {{.*}} = %c32, {{.*}} = %c4,
// CHECK-DAG: [[X:%.+]] = memref.alloca() : memref<4xf32>
// CHECK-DAG: [[E:%.+]] = memref.alloca() : memref<4xf32>
// CHECK-DAG: [[MAX:%.+]] = memref.alloca() : memref<f32>
// CHECK: [[ROW:%.+]] = arith.addi {{.*}}, [[R]] : index
// CHECK: memref.subview %arg0{{\[}}[[ROW]], 0] [1, 100]
// CHECK: affine.for [[K:%[a-z0-9]+]] = 0 to 4
// CHECK: [[AT:%.+]] = arith.minui {{.*}}, %c99
// CHECK: [[V:%.+]] = memref.load %subview{{\[}}[[AT]]]
// CHECK: memref.store [[V]], [[X]]{{\[}}[[K]]]
// CHECK: arith.select
// CHECK: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: memref.store %{{.+}}, [[MAX]][]
// CHECK: affine.for [[K:%[a-z0-9]+]] = 0 to 4
// CHECK: memref.load [[X]]{{\[}}[[K]]]
// CHECK: memref.store %{{.+}}, [[E]]{{\[}}[[K]]]
// CHECK: affine.for [[K:%[a-z0-9]+]] = 0 to 4
// CHECK: memref.load [[E]]{{\[}}[[K]]]
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.+}}, %subview
// CHECK: gpu.terminator
func.func @maximum_and_exp(%x: memref<64x100xf32>, %y: memref<64x100xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %low = arith.constant 0xFF800000 : f32
  %max = memref.alloca() : memref<f32>
  %e = memref.alloca() : memref<100xf32>
  scf.for %i = %c0 to %c64 step %c1 {
    linalg.fill ins(%low : f32) outs(%max : memref<f32>)
    %row = memref.subview %x[%i, 0] [1, 100] [1, 1] : memref<64x100xf32> to memref<100xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%row : memref<100xf32, strided<[1], offset: ?>>) outs(%max : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %b, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%row, %max : memref<100xf32, strided<[1], offset: ?>>, memref<f32>) outs(%e : memref<100xf32>) {
    ^bb0(%a: f32, %m: f32, %b: f32):
      %0 = arith.subf %a, %m : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    }
    %to = memref.subview %y[%i, 0] [1, 100] [1, 1] : memref<64x100xf32> to memref<100xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%e : memref<100xf32>) outs(%to : memref<100xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
  } {tierup.rows}
  return
}

// -----

// Who reads elsewhere than it wrote waits for the others; a row's number that the program returns, the first thread stores at the end.
// CHECK-LABEL: func.func @reversed
// CHECK: gpu.launch
// CHECK: memref.store %{{.+}}, [[E:%memspacecast.*]]{{\[}}
// CHECK: gpu.barrier
// CHECK: memref.load [[E]]
// CHECK: [[FIRST:%.+]] = arith.cmpi eq, %{{.+}}, %c0
// CHECK: scf.if [[FIRST]] {
// CHECK: memref.store %{{.+}}, %{{.+}}[] : memref<f32, strided<[], offset: ?>>
func.func @reversed(%x: memref<64x100xf32>, %y: memref<64x100xf32>, %s: memref<64xf32>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c99 = arith.constant 99 : index
  %zero = arith.constant 0.0 : f32
  %e = memref.alloca() : memref<100xf32>
  scf.for %i = %c0 to %c64 step %c1 {
    %row = memref.subview %x[%i, 0] [1, 100] [1, 1] : memref<64x100xf32> to memref<100xf32, strided<[1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 100] [1, 1] : memref<64x100xf32> to memref<100xf32, strided<[1], offset: ?>>
    %sum = memref.subview %s[%i] [1] [1] : memref<64xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%row : memref<100xf32, strided<[1], offset: ?>>) outs(%e : memref<100xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%to : memref<100xf32, strided<[1], offset: ?>>) {
    ^bb0(%b: f32):
      %j = linalg.index 0 : index
      %k = arith.subi %c99, %j : index
      %0 = memref.load %e[%k] : memref<100xf32>
      linalg.yield %0 : f32
    }
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32, strided<[], offset: ?>>)
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%row : memref<100xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  } {tierup.rows}
  return
}

// -----

// Batches of rows: one loop over all. Of a length that only launches know there are two kernels; the host chooses. Both have a block for each
// row, the first one's threads as many as fill half of its slots. A test stands before each four slots.
// CHECK-LABEL: func.func @batches
// CHECK-DAG: [[N:%.+]] = memref.dim %arg0, %c2
// CHECK-DAG: [[ROWS:%.+]] = arith.muli
// CHECK: arith.cmpi ult, [[N]], %c8193
// CHECK: scf.if
// CHECK: gpu.launch blocks({{.*}} = [[ROWS]], {{.*}}) threads({{[a-z0-9%, ]+}}) in ({{%[a-z0-9]+}} = [[T:%[0-9a-z]+]], {{.*}} workgroup
// CHECK: affine.for {{.*}} = 0 to 4
// CHECK: arith.muli [[T]], %c4
// CHECK: } else {
// CHECK: gpu.launch blocks({{.*}} = [[ROWS]], {{.*}}) threads({{.*}} = %c256, {{.*}} workgroup
// CHECK: scf.for {{.*}} step %c2048
// CHECK: scf.for {{.*}} step %c1024
// CHECK-COUNT-4: memref.load %subview
// CHECK: gpu.terminator
func.func @batches(%x: memref<?x?x?xf32>, %y: memref<?x?x?xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %s = memref.alloca() : memref<f32>
  %a = memref.dim %x, %c0 : memref<?x?x?xf32>
  scf.for %i = %c0 to %a step %c1 {
    %b = memref.dim %x, %c1 : memref<?x?x?xf32>
    %c = memref.dim %x, %c2 : memref<?x?x?xf32>
    %xi = memref.subview %x[%i, 0, 0] [1, %b, %c] [1, 1, 1] : memref<?x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    %yi = memref.subview %y[%i, 0, 0] [1, %b, %c] [1, 1, 1] : memref<?x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    %d = memref.dim %xi, %c0 : memref<?x?xf32, strided<[?, 1], offset: ?>>
    scf.for %j = %c0 to %d step %c1 {
      linalg.fill ins(%zero : f32) outs(%s : memref<f32>)
      %row = memref.subview %xi[%j, 0] [1, %c] [1, 1] : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%row : memref<?xf32, strided<[1], offset: ?>>) outs(%s : memref<f32>) {
      ^bb0(%p: f32, %q: f32):
        %0 = arith.addf %q, %p : f32
        linalg.yield %0 : f32
      }
      %to = memref.subview %yi[%j, 0] [1, %c] [1, 1] : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%row, %s : memref<?xf32, strided<[1], offset: ?>>, memref<f32>) outs(%to : memref<?xf32, strided<[1], offset: ?>>) {
      ^bb0(%p: f32, %q: f32, %r: f32):
        %0 = arith.subf %p, %q : f32
        linalg.yield %0 : f32
      }
    } {tierup.rows}
  } {tierup.rows}
  return
}
