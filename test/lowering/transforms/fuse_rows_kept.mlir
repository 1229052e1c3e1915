// RUN: tierup-opt %s --split-input-file --tierup-fuse-rows | FileCheck %s
// What must not share a loop over the rows, and stays as it is.

#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j, i)>

// Elementwise ops alone gain nothing.
// CHECK-LABEL: func.func @no_reduction
// CHECK-NOT: scf.for
// CHECK: return
func.func @no_reduction(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %z: memref<4x8xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%y : memref<4x8xf32>) outs(%z : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A reduction alone is one loop already.
// CHECK-LABEL: func.func @one_op
// CHECK-NOT: scf.for
// CHECK: return
func.func @one_op(%x: memref<4x8xf32>, %s: memref<4xf32>, %zero: f32) attributes {tierup.result_kinds = []} {
  linalg.fill ins(%zero : f32) outs(%s : memref<4xf32>)
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// Columns are summed: no row has its sum before the last row is read.
// CHECK-LABEL: func.func @reduced_along_the_rows
// CHECK-NOT: scf.for
// CHECK: return
func.func @reduced_along_the_rows(%x: memref<4x4xf32>, %s: memref<4xf32>, %y: memref<4x4xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4x4xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<4x4xf32>, memref<4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %t: f32, %out: f32):
    %0 = arith.divf %in, %t : f32
    linalg.yield %0 : f32
  }
  return
}

// An outermost loop that is no parallel one keeps its order, though it writes by row.
// CHECK-LABEL: func.func @no_parallel_loop
// CHECK-NOT: scf.for
// CHECK: return
func.func @no_parallel_loop(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %s: memref<4xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// The second op reads all sums for each row.
// CHECK-LABEL: func.func @read_by_every_row
// CHECK-NOT: scf.for
// CHECK: return
func.func @read_by_every_row(%x: memref<4x4xf32>, %s: memref<4xf32>, %y: memref<4x4xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x4xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> (j)>, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<4x4xf32>, memref<4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %t: f32, %out: f32):
    %0 = arith.divf %in, %t : f32
    linalg.yield %0 : f32
  }
  return
}

// Read transposed, and along a diagonal of rows: not by row.
// CHECK-LABEL: func.func @other_indexings
// CHECK-NOT: scf.for
// CHECK: return
func.func @other_indexings(%x: memref<4x4xf32>, %s: memref<4xf32>, %y: memref<4x4xf32>, %long: memref<7x4xf32>, %z: memref<4x4xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x4xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#columns, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<4x4xf32>, memref<4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %t: f32, %out: f32):
    %0 = arith.divf %in, %t : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x4xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j, j)>, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%long, %s : memref<7x4xf32>, memref<4xf32>) outs(%z : memref<4x4xf32>) {
  ^bb0(%in: f32, %t: f32, %out: f32):
    %0 = arith.divf %in, %t : f32
    linalg.yield %0 : f32
  }
  return
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Other numbers of rows, and numbers that nothing says are equal.
// CHECK-LABEL: func.func @other_trip_counts
// CHECK-NOT: scf.for
// CHECK: return
func.func @other_trip_counts(%x: memref<4x8xf32>, %s: memref<4xf32>, %y: memref<5x8xf32>, %t: memref<5xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y : memref<5x8xf32>) outs(%t : memref<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @sizes_that_may_differ
// CHECK-NOT: scf.for
// CHECK: return
func.func @sizes_that_may_differ(%x: memref<?x8xf32>, %s: memref<?xf32>, %y: memref<?x8xf32>, %t: memref<?xf32>) attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x8xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y : memref<?x8xf32>) outs(%t : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// -----
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The second op writes, one row further on, what the first one reads: through a view of the same memory.
// CHECK-LABEL: func.func @written_through_a_view
// CHECK-NOT: scf.for
// CHECK: return
func.func @written_through_a_view(%x: memref<5x8xf32>, %s: memref<4xf32>) attributes {tierup.result_kinds = []} {
  %upper = memref.subview %x[0, 0] [4, 8] [1, 1] : memref<5x8xf32> to memref<4x8xf32, strided<[8, 1]>>
  %lower = memref.subview %x[1, 0] [4, 8] [1, 1] : memref<5x8xf32> to memref<4x8xf32, strided<[8, 1], offset: 8>>
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%upper : memref<4x8xf32, strided<[8, 1]>>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%s : memref<4xf32>) outs(%lower : memref<4x8xf32, strided<[8, 1], offset: 8>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// The same through a transposition, and with the write first.
// CHECK-LABEL: func.func @read_through_a_view
// CHECK-NOT: scf.for
// CHECK: return
func.func @read_through_a_view(%s: memref<4xf32>, %z: memref<4xf32>) attributes {tierup.result_kinds = []} {
  %x = memref.alloc() : memref<4x4xf32>
  %t = memref.transpose %x (i, j) -> (j, i) : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%z : memref<4xf32>) outs(%x : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %x : memref<4x4xf32>
  return
}

// Arguments of a function that is no entry may overlap; so may what control flow chose.
// CHECK-LABEL: func.func @arguments_that_may_overlap
// CHECK-NOT: scf.for
// CHECK: return
func.func @arguments_that_may_overlap(%x: memref<4x8xf32>, %s: memref<4xf32>, %y: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%s : memref<4xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// CHECK-LABEL: func.func @chosen_by_control_flow
// CHECK-NOT: scf.for
// CHECK: return
func.func @chosen_by_control_flow(%c: i1) attributes {tierup.result_kinds = []} {
  %x = memref.alloc() : memref<4x8xf32>
  %z = memref.alloc() : memref<4x8xf32>
  %y = arith.select %c, %x, %z : memref<4x8xf32>
  %s = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%s : memref<4xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// What reads memory in between keeps its place.
// CHECK-LABEL: func.func @a_load_in_between
// CHECK-NOT: scf.for
// CHECK: memref.load
// CHECK-NOT: scf.for
// CHECK: return
func.func @a_load_in_between(%x: memref<4x8xf32>, %s: memref<4xf32>, %y: memref<4x8xf32>) attributes {tierup.result_kinds = []} {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  %first = memref.load %s[%c0] : memref<4xf32>
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%s : memref<4xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %first : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @a_store_to_what_the_ops_read
// CHECK-NOT: scf.for
// CHECK: return
func.func @a_store_to_what_the_ops_read(%c: i1, %f: f32, %x: memref<4x8xf32>, %s: memref<4xf32>, %y: memref<4x8xf32>) attributes {tierup.result_kinds = []} {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  scf.if %c {
    memref.store %f, %s[%c0] : memref<4xf32>
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%s : memref<4xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Tensors, and buffers whose elements lie in no strides.
// CHECK-LABEL: func.func @no_strided_buffers
// CHECK-NOT: scf.for
// CHECK: return
func.func @no_strided_buffers(%x: memref<4x8xf32, affine_map<(i, j) -> (i, j mod 2, j floordiv 2)>>, %s: memref<4xf32>, %t: tensor<4x8xf32>, %u: tensor<4xf32>) -> tensor<4xf32> attributes {tierup.result_kinds = []} {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32, affine_map<(i, j) -> (i, j mod 2, j floordiv 2)>>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<4xf32>) {
  ^bb0(%out: f32):
    %0 = arith.negf %out : f32
    linalg.yield %0 : f32
  }
  %r = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<4x8xf32>) outs(%u : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// What one op writes the body of the next loads from another row: a reversed array.
// CHECK-LABEL: func.func @loaded_from_another_row
// CHECK-NOT: scf.for
// CHECK: arith.negf
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NOT: arith.negf
// CHECK: return
func.func @loaded_from_another_row(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %s: memref<4xf32>, %m: memref<4xf32>) attributes {tierup.result_kinds = []} {
  %c3 = arith.constant 3 : index
  %t = memref.alloc() : memref<4x8xf32>
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%t : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%y : memref<4x8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %c3, %i : index
    %0 = memref.load %t[%k, %j] : memref<4x8xf32>
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%y : memref<4x8xf32>) outs(%m : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<4x8xf32>
  return
}
