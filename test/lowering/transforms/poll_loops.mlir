// RUN: tierup-opt %s --split-input-file --tierup-poll-loops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-poll-loops --tierup-poll-loops | FileCheck %s

// A loop over numbers goes in chunks, and the budget pays for a whole chunk; the function gives the GIL back at its end.
// CHECK-DAG: func.func private @tierup_poll(i64) -> i32
// CHECK-DAG: func.func private @tierup_poll_end(i64)
// CHECK-LABEL: func.func @numbers
// CHECK-SAME: (%[[N:.*]]: index, %[[STATUS:.*]]: memref<i32>)
// CHECK: %[[BUDGET:.*]] = memref.alloca() : memref<1xi64>
// CHECK: %[[WORDS:.*]] = memref.alloca() : memref<2xi64>
// CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[WORDS]]
// CHECK: %[[STATE:.*]] = arith.index_cast %[[ADDRESS]]
// CHECK: %[[R:.*]]:2 = scf.while
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %[[N]]
// CHECK: %[[S:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[CLEAR:.*]] = arith.cmpi eq, %[[S]], %c0
// CHECK: %[[GO:.*]] = arith.andi %[[MORE]], %[[CLEAR]]
// CHECK: scf.condition(%[[GO]])
// CHECK: } do {
// CHECK: ^bb0(%[[AT:.*]]: index, %[[SUM:.*]]: i64):
// CHECK: %[[REST:.*]] = arith.subi %[[N]], %[[AT]]
// CHECK: %[[ROUNDS:.*]] = arith.minsi %[[REST]], %{{.*}}
// CHECK: %[[END:.*]] = arith.addi %[[AT]], %[[ROUNDS]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %[[END]], %[[N]]
// CHECK: llvm.intr.assume %[[INSIDE]]
// CHECK: %[[SUMMED:.*]] = scf.for %{{.*}} = %[[AT]] to %[[END]] step %{{.*}} iter_args(%{{.*}} = %[[SUM]])
// CHECK: arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: scf.if
// CHECK: memref.load %[[STATUS]][]
// CHECK: scf.if
// CHECK: func.call @tierup_poll(%[[STATE]])
// CHECK: scf.if
// CHECK: memref.store %c1073676289_i32{{.*}}, %[[STATUS]][]
// CHECK: scf.yield %[[END]], %[[SUMMED]]
// CHECK: call @tierup_poll_end(%[[STATE]])
// CHECK: return %[[R]]#1
func.func @numbers(%n: index, %status: memref<i32>) -> i64 attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0 : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (i64) {
    %i64 = arith.index_cast %i : index to i64
    %next = arith.addi %s, %i64 : i64
    scf.yield %next : i64
  } loc("torch.prim.Loop"("x.py":3:4))
  return %sum : i64
}

// -----

// What a loop that surely goes round gives may have been folded: it goes round once where the status is set before.
// CHECK-LABEL: func.func @surely
// CHECK: scf.while (%[[I:[a-z0-9_]+]] = %[[LOW:[a-z0-9_]+]],
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[I]],
// CHECK: %[[CLEAR:.*]] = arith.cmpi eq
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %[[LOW]]
// CHECK: %[[ON:.*]] = arith.ori %[[CLEAR]], %[[FIRST]]
// CHECK: %[[GO:.*]] = arith.andi %[[BELOW]], %[[ON]]
// CHECK: scf.condition(%[[GO]])
// CHECK: arith.select %{{.*}}, %{{.*}}, %c1
func.func @surely(%status: memref<i32>) -> i64 attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  %start = arith.constant 0 : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (i64) {
    %i64 = arith.index_cast %i : index to i64
    %next = arith.addi %s, %i64 : i64
    scf.yield %next : i64
  } loc("torch.prim.Loop"("x.py":3:4))
  return %sum : i64
}

// -----

// A loop that ends by its condition polls in each round, and so does one over arrays of which the run alone knows the sizes: these count.
// CHECK-LABEL: func.func @rounds
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[STATUS:.*]]: memref<i32>)
// CHECK: scf.while
// CHECK: memref.load %[[STATUS]][]
// CHECK: arith.andi
// CHECK: scf.condition
// CHECK: linalg.generic
// CHECK: memref.dim %[[X]]
// CHECK: func.call @tierup_poll
// CHECK: scf.yield
// CHECK: call @tierup_poll_end
func.func @rounds(%x: memref<?xf32>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"], tierup.error_sites = []} {
  %go = arith.constant true
  scf.while (%more = %go) : (i1) -> (i1) {
    scf.condition(%more) %more : i1
  } do {
  ^bb0(%more: i1):
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
    ^bb0(%e: f32):
      %d = arith.addf %e, %e : f32
      linalg.yield %d : f32
    }
    scf.yield %more : i1
  } loc("torch.prim.Loop"("x.py":3:4))
  return
}

// -----

// Left alone: few rounds, a loop that no line of the program is, and functions that nobody can be told a status by.
// CHECK-NOT: tierup_poll
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: scf.while
func.func @left_alone(%n: index, %x: memref<?xi64>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"], tierup.error_sites = []} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  %value = arith.constant 7 : i64
  scf.for %i = %zero to %ten step %one {
    memref.store %value, %x[%i] : memref<?xi64>
  } loc("torch.prim.Loop"("x.py":3:4))
  scf.for %i = %zero to %n step %one {
    memref.store %value, %x[%i] : memref<?xi64>
  } loc("torch.aten.cumsum"("x.py":4:4))
  return
}
func.func private @part(%n: index, %x: memref<?xi64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %value = arith.constant 7 : i64
  scf.for %i = %zero to %n step %one {
    memref.store %value, %x[%i] : memref<?xi64>
  } loc("torch.prim.Loop"("x.py":3:4))
  return
}

// -----

// An array that an inner loop gives counts for the outer one: it is asked what the chunks of the inner one give in the end.
// CHECK-LABEL: func.func @nested
// CHECK: scf.while
// CHECK: scf.for
// CHECK: %[[INNER:.*]]:2 = scf.while
// CHECK: linalg.generic
// CHECK: memref.dim %[[INNER]]#1
func.func @nested(%n: index, %x: memref<?xf32>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"], tierup.error_sites = []} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %r = scf.for %j = %zero to %n step %one iter_args(%y = %x) -> (memref<?xf32>) {
      scf.yield %x : memref<?xf32>
    } loc("torch.prim.Loop"("x.py":4:4))
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%r : memref<?xf32>) {
    ^bb0(%e: f32):
      %d = arith.addf %e, %e : f32
      linalg.yield %d : f32
    }
  } loc("torch.prim.Loop"("x.py":3:4))
  return
}

// -----

// A part of a long entry gets the entry's status; one without such loops stays as it is.
// CHECK-DAG: func.func private @tierup_poll(i64) -> i32
// CHECK-LABEL: func.func @long
// CHECK-SAME: (%[[N:.*]]: index, %[[X:.*]]: memref<4xf32>, %[[STATUS:.*]]: memref<i32>)
// CHECK-NEXT: call @long_part0(%[[N]], %[[X]], %[[STATUS]])
// CHECK-NEXT: call @long_part1(%[[X]])
// CHECK-NEXT: call @long_part0(%[[N]], %[[X]], %[[STATUS]])
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @long_part0
// CHECK-SAME: (%[[END:.*]]: index, %{{.*}}: memref<4xf32>, %[[S:.*]]: memref<i32>)
// CHECK: scf.while
// CHECK: memref.load %[[S]][]
// CHECK: call @tierup_poll(
// CHECK: memref.store %c1073676289_i32{{.*}}, %[[S]][]
// CHECK: call @tierup_poll_end(
// CHECK-LABEL: func.func private @long_part1
// CHECK-SAME: (%{{.*}}: memref<4xf32>) attributes
// CHECK-NOT: tierup_poll
// CHECK: return
func.func @long(%n: index, %x: memref<4xf32>, %status: memref<i32>) attributes {tierup.result_kinds = ["buffer"], tierup.error_sites = []} {
  call @long_part0(%n, %x) : (index, memref<4xf32>) -> ()
  call @long_part1(%x) : (memref<4xf32>) -> ()
  call @long_part0(%n, %x) : (index, memref<4xf32>) -> ()
  return
}
func.func private @long_part0(%n: index, %x: memref<4xf32>) attributes {tierup.part} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 5.0e-01 : f32
  scf.for %i = %zero to %n step %one {
    %e = memref.load %x[%zero] : memref<4xf32>
    %h = arith.mulf %e, %half : f32
    memref.store %h, %x[%zero] : memref<4xf32>
  } loc("torch.prim.Loop"("x.py":3:4))
  return
}
func.func private @long_part1(%x: memref<4xf32>) attributes {tierup.part} {
  %zero = arith.constant 0 : index
  %e = memref.load %x[%zero] : memref<4xf32>
  memref.store %e, %x[%zero] : memref<4xf32>
  return
}

// -----

// A loop that counts its rounds beside its condition goes in chunks, too: the inner loop asks for no budget.
// CHECK-LABEL: func.func @counted
// CHECK-SAME: (%[[N:.*]]: i64, %{{.*}}: i64, %[[STATUS:.*]]: memref<i32>)
// CHECK: scf.while
// CHECK: memref.load %[[STATUS]][]
// CHECK: scf.condition
// CHECK: %[[REST:.*]] = arith.subi %[[N]], %[[AT:.*]] : i64
// CHECK: %[[END:.*]] = arith.addi %[[AT]], %{{.*}} : i64
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %[[END]], %[[N]]
// CHECK: llvm.intr.assume %[[INSIDE]]
// CHECK: %[[INNER:.*]]:{{[0-9]+}} = scf.while
// CHECK: arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK: scf.condition
// CHECK: ^bb0
// CHECK-NOT: memref
// CHECK: scf.yield
// CHECK: arith.subi %[[INNER]]#
// CHECK: func.call @tierup_poll
func.func @counted(%n: i64, %most: i64, %status: memref<i32>) -> i64 attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %go = arith.constant true
  %r:2 = scf.while (%i = %zero, %on = %go, %s = %zero) : (i64, i1, i64) -> (i64, i64) {
    %below = arith.cmpi slt, %i, %n : i64
    %both = arith.andi %below, %on : i1
    scf.condition(%both) %i, %s : i64, i64
  } do {
  ^bb0(%i: i64, %s: i64):
    %next = arith.addi %i, %one : i64
    %sum = arith.addi %s, %i : i64
    %less = arith.cmpi slt, %sum, %most : i64
    scf.yield %next, %less, %sum : i64, i1, i64
  } loc("torch.prim.Loop"("x.py":3:4))
  return %r#1 : i64
}
