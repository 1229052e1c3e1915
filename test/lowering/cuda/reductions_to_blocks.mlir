// RUN: tierup-opt %s --split-input-file --tierup-reductions-to-blocks --canonicalize --cse | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A block for each row: the threads sum every 256th element, three in a turn as long as there are so many, five exchanges make a warp's sum, the warps' sums go through shared memory,
// and the first thread adds what the output held.
// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch blocks([[ROW:%[a-z0-9]+]], {{.*}}) in ({{.*}} = %c64, {{.*}} = %c1, {{.*}}) threads([[T:%[a-z0-9]+]], {{.*}} = %c256, {{.*}} workgroup([[SHARED:%.+]] : memref<32xf32,
// CHECK-NEXT: [[SOME:%.+]]:2 = scf.for [[I:%[a-z0-9]+]] = [[T]] to %c488 step %c768 iter_args({{.*}} = [[T]], {{.*}} = %cst) -> (index, f32) {
// CHECK: affine.for [[K:%[a-z0-9]+]] = 0 to 3
// CHECK-NEXT: [[STEP:%.+]] = arith.muli [[K]], %c256
// CHECK-NEXT: [[AT:%.+]] = arith.addi [[I]], [[STEP]]
// CHECK-NEXT: memref.load %arg0{{\[}}[[ROW]], [[AT]]]
// CHECK: [[MINE:%.+]] = scf.for [[J:%[a-z0-9]+]] = [[SOME]]#0 to %c1000 step %c256 iter_args({{.*}} = [[SOME]]#1) -> (f32) {
// CHECK-NEXT: memref.load %arg0{{\[}}[[ROW]], [[J]]]
// CHECK: gpu.shuffle xor [[MINE]], %c16_i32, %c32_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c8_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c4_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c2_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c1_i32
// CHECK: gpu.barrier
// CHECK: memref.store %{{.+}}, [[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.load [[SHARED]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: [[FIRST:%.+]] = arith.cmpi eq, [[T]], %c0
// CHECK-NEXT: scf.if [[FIRST]] {
// CHECK-NEXT: memref.load %arg1{{\[}}[[ROW]]]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: memref.store %{{.+}}, %arg1{{\[}}[[ROW]]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @rows(%x: memref<64x1000xf32>, %s: memref<64xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x1000xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Columns: 32 side by side, so that neighbours read neighbours; 8 threads deep, which the first of them combines.
// CHECK-LABEL: func.func @columns
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %c4, {{.*}} = %c1, {{.*}} = %c1) threads([[X:%[a-z0-9]+]], [[DEEP:%[a-z0-9]+]], {{.*}} = %c32, {{.*}} = %c8, {{.*}} workgroup([[TILE:%.+]] : memref<8x32xf32,
// CHECK: [[COLUMN:%.+]] = arith.addi
// CHECK-NEXT: [[INSIDE:%.+]] = arith.cmpi ult, [[COLUMN]], %c100
// CHECK: [[END:%.+]] = arith.select [[INSIDE]], %c64, %c0
// CHECK: scf.for {{.*}} = [[DEEP]] to {{.*}} step %c64
// CHECK: scf.for [[I:%[a-z0-9]+]] = {{.*}} to [[END]] step %c8
// CHECK: memref.load %arg0{{\[}}[[I]], [[COLUMN]]]
// CHECK: memref.store %{{.+}}, [[TILE]]{{\[}}[[DEEP]], [[X]]]
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-8: memref.load [[TILE]]
// CHECK: memref.store %{{.+}}, %arg1{{\[}}[[COLUMN]]]
// CHECK: gpu.barrier
func.func @columns(%x: memref<64x100xf32>, %s: memref<100xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x100xf32>) outs(%s : memref<100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// One long row: parts, which a second kernel sums. Each part begins with the neutral element.
// CHECK-LABEL: func.func @parts
// CHECK: [[PARTS:%.+]] = memref.alloc{{.*}} : memref<{{.*}}xf32>
// CHECK: gpu.launch blocks({{.*}}, [[PART:%[a-z0-9]+]], {{.*}}) in ({{.*}} = %c1, {{.*}} = %c24, {{.*}}) threads
// CHECK: memref.store %{{.+}}, %{{.+}}{{\[}}%{{.+}}, [[PART]]]
// CHECK: gpu.launch
// CHECK: iter_args({{.*}} = %cst) -> (f32)
// CHECK: memref.store %{{.+}}, %arg1[]
func.func @parts(%x: memref<100000xf32>, %s: memref<f32>) attributes {tierup.result_kinds = ["buffer"]} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<100000xf32>) outs(%s : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The position of a maximum: elements and positions are exchanged together. Neither of two is better: the first position counts.
// CHECK-LABEL: func.func @position
// CHECK: gpu.launch {{.*}} workgroup({{.*}} : memref<64xf32, {{.*}} : memref<64xi64,
// CHECK: scf.for
// CHECK: gpu.shuffle xor %{{.+}}, %c16_i32, %c32_i32 : f32
// CHECK-COUNT-2: gpu.shuffle xor %{{.+}}, %c16_i32, %c32_i32 : i32
// CHECK: [[RIGHT:%.+]] = arith.cmpf ogt
// CHECK: [[LEFT:%.+]] = arith.cmpf ogt
// CHECK: [[FIRST:%.+]] = arith.cmpi slt, {{.*}} : i64
// CHECK: [[NEITHER:%.+]] = arith.xori [[LEFT]], %true
// CHECK: [[BOTH:%.+]] = arith.andi [[NEITHER]], [[FIRST]]
// CHECK: [[CHOSEN:%.+]] = arith.ori [[RIGHT]], [[BOTH]]
// CHECK-COUNT-2: arith.select [[CHOSEN]]
// CHECK: return
func.func @position(%x: memref<64x100xf32>, %best: memref<64xf32>, %where: memref<64xi64>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x100xf32>) outs(%best, %where : memref<64xf32>, memref<64xi64>) {
  ^bb0(%a: f32, %m: f32, %p: i64):
    %better = arith.cmpf ogt, %a, %m : f32
    %j = linalg.index 1 : index
    %position = arith.index_cast %j : index to i64
    %0 = arith.select %better, %a, %m : f32
    %1 = arith.select %better, %position, %p : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// -----

// What sets the outputs before goes: a row starts from that number. Not where somebody looks between, or only a part is set.
// CHECK-LABEL: func.func @starts
// CHECK-NOT: linalg.fill
// CHECK: gpu.launch
// CHECK-NOT: memref.load %arg1{{\[}}
// CHECK: arith.addf %{{.+}}, %cst_0
// CHECK: memref.store %{{.+}}, %arg1{{\[}}
// CHECK: gpu.terminator
// CHECK: linalg.fill
// CHECK: memref.copy %arg1, %arg2
// CHECK: gpu.launch
// CHECK: memref.load %arg1{{\[}}
// CHECK: gpu.terminator
// CHECK: linalg.fill
// CHECK: gpu.launch
// CHECK: memref.load %arg1{{\[}}
func.func @starts(%x: memref<64x9xf32>, %s: memref<64xf32>, %t: memref<64xf32>) attributes {tierup.result_kinds = ["buffer", "buffer"]} {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%s : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x9xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%one : f32) outs(%s : memref<64xf32>)
  memref.copy %s, %t : memref<64xf32> to memref<64xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x9xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  %part = memref.subview %s[0] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1]>>
  linalg.fill ins(%one : f32) outs(%part : memref<32xf32, strided<[1]>>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x9xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
