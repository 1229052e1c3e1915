// RUN: tierup-opt %s --split-input-file --tierup-rows-to-blocks --canonicalize --cse | FileCheck %s

// Softmax but for its sum: the maximum is in a register of each thread, the exponentials are in shared memory. No barrier between the two
// ops that touch the exponentials: each thread reads what it wrote.
// CHECK-LABEL: func.func @maximum_and_exp
// CHECK: gpu.launch blocks([[ROW:%[a-z0-9]+]], {{.*}} = %c64, {{.*}}) threads([[T:%[a-z0-9]+]], {{.*}} = %c32, {{.*}} workgroup({{.*}}memref<32xf32, {{.*}}, [[TILE:%[a-z0-9]+]] : memref<100xf32,
// CHECK-DAG: [[MAX:%.+]] = memref.alloca() : memref<f32>
// CHECK-DAG: [[E:%.+]] = memref.memory_space_cast [[TILE]]
// CHECK: memref.subview %arg0{{\[}}[[ROW]], 0] [1, 100]
// CHECK: gpu.shuffle
// CHECK: memref.store %{{.+}}, [[MAX]][]
// CHECK: scf.for [[I:%[a-z0-9]+]] = [[T]] to %c100 step %c32 {
// CHECK: memref.load [[MAX]][]
// CHECK: memref.store %{{.+}}, [[E]]{{\[}}[[I]]]
// CHECK-NOT: gpu.barrier
// CHECK: scf.for [[I:%[a-z0-9]+]] = [[T]] to %c100 step %c32 {
// CHECK-NEXT: memref.load [[E]]{{\[}}[[I]]]
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
