// RUN: tierup-opt %s --split-input-file --tierup-loops-to-threads --canonicalize | FileCheck %s

// A running sum along the columns: each row is a thread's, which goes along it.
// CHECK-LABEL: func.func @running_sum
// CHECK-DAG: [[C5:%.+]] = arith.constant 5 : index
// CHECK-DAG: [[C256:%.+]] = arith.constant 256 : index
// CHECK: gpu.launch {{.*}} threads([[ROW:%[a-z0-9]+]], {{.*}} = [[C256]],
// CHECK-NEXT: [[THERE:%.+]] = arith.cmpi ult, [[ROW]], [[C5]]
// CHECK: scf.if [[THERE]] {
// CHECK-NEXT: scf.for [[J:%[a-z0-9]+]] = %c0 to %c9 step %c1 iter_args([[SUM:%[a-z0-9]+]] =
// CHECK-NEXT: memref.load %arg0{{\[}}[[ROW]], [[J]]]
// CHECK-NEXT: arith.addf [[SUM]],
// CHECK-NEXT: memref.store %{{.+}}, %arg1{{\[}}[[ROW]], [[J]]]
// CHECK: gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @running_sum(%x: memref<5x9xf32>, %y: memref<5x9xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c5 step %c1 {
    %sum = scf.for %j = %c0 to %c9 step %c1 iter_args(%so_far = %zero) -> (f32) {
      %element = memref.load %x[%i, %j] : memref<5x9xf32>
      %next = arith.addf %so_far, %element : f32
      memref.store %next, %y[%i, %j] : memref<5x9xf32>
      scf.yield %next : f32
    }
  }
  return
}

// -----

// A scatter of rows: which row is for the memory to say, so rows are written in order; each column is a thread's.
// CHECK-LABEL: func.func @scatter
// CHECK: [[COLUMNS:%.+]] = arith.maxsi %arg3, %c0
// CHECK: gpu.launch
// CHECK: [[COLUMN:%.+]] = arith.addi
// CHECK-NEXT: [[THERE:%.+]] = arith.cmpi ult, [[COLUMN]], [[COLUMNS]]
// CHECK: scf.if [[THERE]] {
// CHECK-NEXT: scf.for [[I:%[a-z0-9]+]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: [[TO:%.+]] = memref.load %arg0{{\[}}[[I]]]
// CHECK-NEXT: [[V:%.+]] = memref.load %arg1{{\[}}[[I]], [[COLUMN]]]
// CHECK-NEXT: memref.store [[V]], %arg2{{\[}}[[TO]], [[COLUMN]]]
func.func @scatter(%to: memref<4xindex>, %v: memref<4x?xf32>, %y: memref<50x?xf32>, %columns: index) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %row = memref.load %to[%i] : memref<4xindex>
      %element = memref.load %v[%i, %j] : memref<4x?xf32>
      memref.store %element, %y[%row, %j] : memref<50x?xf32>
    }
  }
  return
}

// -----

// Each iteration may write where another reads: one thread. So where a neighbour is read, and where the same buffer is named twice.
// CHECK-LABEL: func.func @one_thread
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %c1, {{.*}} = %c1, {{.*}} = %c1) threads({{.*}}) in ({{.*}} = %c1, {{.*}} = %c1, {{.*}} = %c1)
// CHECK-NEXT: scf.for
// CHECK: gpu.launch {{.*}} threads({{.*}}) in ({{.*}} = %c1, {{.*}} = %c1, {{.*}} = %c1)
// CHECK-NEXT: scf.for
func.func @one_thread(%x: memref<9xf32>, %y: memref<3x3xf32>) attributes {tierup.result_kinds = ["buffer"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %next = arith.addi %i, %c1 : index
    %element = memref.load %x[%i] : memref<9xf32>
    memref.store %element, %x[%next] : memref<9xf32>
  }
  %flat = memref.collapse_shape %y [[0, 1]] : memref<3x3xf32> into memref<9xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %element = memref.load %flat[%i] : memref<9xf32>
    memref.store %element, %y[%i, %c0] : memref<3x3xf32>
  }
  return
}

// -----

// A check of what lies on the device goes along, with the load that it asks; a check of a number is the host's.
// CHECK-LABEL: func.func @checks
// CHECK: gpu.launch
// CHECK-NEXT: [[OK:%.+]] = memref.load %arg0[] : memref<i1>
// CHECK-NEXT: [[BAD:%.+]] = arith.xori [[OK]], %true
// CHECK-NEXT: scf.if [[BAD]] {
// CHECK-NEXT: memref.store %c1_i32, %arg2[] : memref<i32>
// CHECK-NEXT: }
// CHECK-NEXT: gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %arg1 {
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @checks(%good: memref<i1>, %bad_number: i1, %status: memref<i32>) attributes {tierup.result_kinds = []} {
  %true = arith.constant true
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %ok = memref.load %good[] : memref<i1>
  %bad = arith.xori %ok, %true : i1
  scf.if %bad {
    memref.store %one, %status[] : memref<i32>
  }
  scf.if %bad_number {
    memref.store %two, %status[] : memref<i32>
  }
  return
}

// -----

// What the host needs of a loop it finds in memory. A loop around launches stays the host's.
// CHECK-LABEL: func.func @the_host_needs_it
// CHECK: [[PLACE:%.+]] = memref.alloc() : memref<f32>
// CHECK-NEXT: gpu.launch
// CHECK: [[SUM:%.+]] = scf.for
// CHECK: memref.store [[SUM]], [[PLACE]][]
// CHECK: gpu.terminator
// CHECK: [[READ:%.+]] = memref.load [[PLACE]][]
// CHECK-NEXT: return [[READ]]
func.func @the_host_needs_it(%x: memref<9xf32>) -> f32 attributes {tierup.result_kinds = ["scalar"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %j = %c0 to %c9 step %c1 iter_args(%so_far = %zero) -> (f32) {
    %element = memref.load %x[%j] : memref<9xf32>
    %next = arith.addf %so_far, %element : f32
    scf.yield %next : f32
  }
  return %sum : f32
}

// -----

// CHECK-LABEL: func.func @around_launches
// CHECK: scf.for %{{.+}} = %c0 to %c9
// CHECK-NEXT: gpu.launch
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.terminator
// CHECK: gpu.launch
// CHECK-NEXT: scf.for
// CHECK: return
func.func @around_launches(%x: memref<9xf32>, %one: f32) attributes {tierup.result_kinds = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %j = %c0 to %c9 step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) {
      memref.store %one, %x[%bx] : memref<9xf32>
      gpu.terminator
    }
    scf.for %i = %c0 to %c9 step %c1 {
      %element = memref.load %x[%i] : memref<9xf32>
      memref.store %element, %x[%j] : memref<9xf32>
    }
  }
  return
}
