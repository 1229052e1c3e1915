// RUN: tierup-opt %s --split-input-file --tierup-write-arguments | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-write-arguments --tierup-write-arguments | FileCheck %s

// All that can fail has been checked: the argument is written, where nothing failed.
// CHECK-LABEL: func.func @checked_before
// CHECK-SAME: (%[[X:.*]]: memref<1000xf64>, %[[I:.*]]: index, %[[V:.*]]: f64, %[[STATUS:.*]]: memref<i32>)
// CHECK-SAME: tierup.result_kinds = [], tierup.results = [{argument = 0 : i64, dtype = "f64", kind = "written", sizes = [1000]}]
// CHECK: memref.store %c1{{.*}}, %[[STATUS]][]
// CHECK-NOT: memref.copy
// CHECK: %[[S:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[GOOD:.*]] = arith.cmpi eq, %[[S]], %c0
// CHECK: scf.if %[[GOOD]] {
// CHECK-NEXT: memref.store %[[V]], %[[X]][%[[I]]]
func.func @checked_before(%x: memref<1000xf64>, %i: index, %v: f64, %y: memref<1000xf64>, %status: memref<i32>) attributes {
    tierup.error_sites = [{}], tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f64", in_place = true, kind = "argument", sizes = [1000]}]} {
  %one = arith.constant 1 : i32
  %end = arith.constant 1000 : index
  %bad = arith.cmpi uge, %i, %end : index
  scf.if %bad {
    memref.store %one, %status[] : memref<i32>
  }
  memref.copy %x, %y : memref<1000xf64> to memref<1000xf64>
  memref.store %v, %y[%i] : memref<1000xf64>
  return
}

// -----

// What writes each element where it read it needs no memory of its own; what reads others does.
// CHECK-LABEL: func.func @each_element
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[X]] : {{.*}}) outs(%[[X]] : memref<8xf32>)
// CHECK-LABEL: func.func @other_elements
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK-LABEL: func.func @read_in_each_round
// CHECK-SAME: (%[[X:.*]]: memref<8xf32>, %{{.*}}: index, %[[Y:.*]]: memref<8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK-LABEL: func.func @read_later
// CHECK: memref.copy %arg0, %arg1
#same = affine_map<(i) -> (i)>
#reversed = affine_map<(i) -> (7 - i)>
func.func @each_element(%x: memref<8xf32>, %y: memref<8xf32>) attributes {tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f32", in_place = true, kind = "argument", sizes = [8]}]} {
  linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]} ins(%x, %x : memref<8xf32>, memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
func.func @other_elements(%x: memref<8xf32>, %y: memref<8xf32>) attributes {tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f32", in_place = true, kind = "argument", sizes = [8]}]} {
  linalg.generic {indexing_maps = [#reversed, #same], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  }
  return
}
func.func @read_in_each_round(%x: memref<8xf32>, %n: index, %y: memref<8xf32>) attributes {tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f32", in_place = true, kind = "argument", sizes = [8]}]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
    ^bb0(%a: f32, %out: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }
  }
  return
}
func.func @read_later(%x: memref<8xf32>, %y: memref<8xf32>) -> f32 attributes {tierup.result_kinds = ["buffer", "scalar"],
    tierup.results = [{argument = 0 : i64, dtype = "f32", in_place = true, kind = "argument", sizes = [8]}, {dtype = "float", kind = "scalar"}]} {
  %first = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  memref.store %zero, %y[%first] : memref<8xf32>
  %before = memref.load %x[%first] : memref<8xf32>
  return %before : f32
}

// -----

// A check behind a write: a store at a place that only the round knows is noted before it, those at places that follow from the counter
// are noted before the loop. In the end they are put back where a check failed.
// CHECK-LABEL: func.func @checked_behind
// CHECK-SAME: (%[[X:.*]]: memref<100x100xf64>, %[[AT:.*]]: memref<100xindex>, %[[N:.*]]: index, %[[STATUS:.*]]: memref<i32>)
// CHECK-DAG: %[[FLAT:.*]] = memref.collapse_shape %[[X]]
// CHECK-DAG: %[[COPY:.*]] = memref.alloc() : memref<100x100xf64>
// CHECK: %[[COUNT:.*]] = memref.alloca() : memref<index>
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %[[N]]
// CHECK: memref.load %[[FLAT]]
// CHECK: memref.copy %[[X]], %[[COPY]]
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %[[N]]
// CHECK: memref.store %{{.*}}, %[[X]][%[[I]], %[[I]]]
// CHECK: %[[K:.*]] = memref.load %[[AT]][%[[I]]]
// CHECK: memref.load %[[FLAT]]
// CHECK: memref.copy %[[X]], %[[COPY]]
// CHECK: memref.store %{{.*}}, %[[X]][%[[K]], %c0
// CHECK: arith.cmpi ne, %{{.*}}, %c0
// CHECK-NEXT: scf.if
// CHECK: memref.copy %[[COPY]], %[[X]]
// CHECK: memref.store %{{.*}}, %[[FLAT]]
// CHECK-COUNT-3: memref.dealloc
func.func @checked_behind(%x: memref<100x100xf64>, %at: memref<100xindex>, %n: index, %y: memref<100x100xf64>, %status: memref<i32>) attributes {
    tierup.error_sites = [{}], tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f64", in_place = true, kind = "argument", sizes = [100, 100]}]} {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 100 : index
  %one = arith.constant 1 : i32
  %v = arith.constant 2.0 : f64
  memref.copy %x, %y : memref<100x100xf64> to memref<100x100xf64>
  scf.for %i = %zero to %n step %step {
    memref.store %v, %y[%i, %i] : memref<100x100xf64>
    %k = memref.load %at[%i] : memref<100xindex>
    %bad = arith.cmpi uge, %k, %end : index
    scf.if %bad {
      memref.store %one, %status[] : memref<i32>
    }
    memref.store %v, %y[%k, %zero] : memref<100x100xf64>
  }
  return
}

// -----

// A loop whose rounds the run alone knows is there without notes, too, for when there are enough of them.
// CHECK-LABEL: func.func @without_notes
// CHECK: scf.if
// CHECK: scf.if
// CHECK-NEXT: %[[PLAIN:.*]] = scf.while
// CHECK-NOT: memref.copy
// CHECK: memref.store %{{.*}}, %[[X:.*]][%{{.*}}] : memref<9000xf64>
// CHECK: scf.yield %[[PLAIN]]
// CHECK: else
// CHECK: %[[NOTING:.*]] = scf.while
// CHECK: memref.copy
// CHECK: scf.yield %[[NOTING]]
func.func @without_notes(%x: memref<9000xf64>, %n: index, %y: memref<9000xf64>, %status: memref<i32>) attributes {
    tierup.error_sites = [{}], tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f64", in_place = true, kind = "argument", sizes = [9000]}]} {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %v = arith.constant 2.0 : f64
  memref.copy %x, %y : memref<9000xf64> to memref<9000xf64>
  %end = scf.while (%i = %zero) : (index) -> index {
    %on = arith.cmpi ult, %i, %n : index
    scf.condition(%on) %i : index
  } do {
  ^bb0(%i: index):
    memref.store %v, %y[%i] : memref<9000xf64>
    %next = arith.addi %i, %step : index
    scf.yield %next : index
  }
  %bad = arith.cmpi uge, %end, %n : index
  scf.if %bad {
    memref.store %one, %status[] : memref<i32>
  }
  return
}

// -----

// An interruption alone puts nothing back: the loop ends with the status, and what comes behind it is left out then.
// CHECK-LABEL: func.func @interrupted
// CHECK-SAME: (%[[X:.*]]: memref<9000xf64>, %[[N:.*]]: index, %[[STATUS:.*]]: memref<i32>)
// CHECK-NOT: memref.alloc
// CHECK: scf.while
// CHECK: do {
// CHECK-NOT: scf.if
// CHECK: memref.store %{{.*}}, %[[X]][%{{.*}}] : memref<9000xf64>
// CHECK: call @tierup_poll
// CHECK: %[[NOW:.*]] = memref.load %[[STATUS]]
// CHECK: %[[CLEAR:.*]] = arith.cmpi eq, %[[NOW]]
// CHECK: scf.if %[[CLEAR]] {
// CHECK-NEXT: memref.store %{{.*}}, %[[X]][%{{.*}}] : memref<9000xf64>
func.func private @tierup_poll(i64) -> i32
func.func @interrupted(%x: memref<9000xf64>, %n: index, %y: memref<9000xf64>, %status: memref<i32>) attributes {
    tierup.error_sites = [], tierup.result_kinds = ["buffer"],
    tierup.results = [{argument = 0 : i64, dtype = "f64", in_place = true, kind = "argument", sizes = [9000]}]} {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %state = arith.constant 0 : i64
  %left = arith.constant 1073676289 : i32
  %v = arith.constant 2.0 : f64
  memref.copy %x, %y : memref<9000xf64> to memref<9000xf64>
  %end = scf.while (%i = %zero) : (index) -> index {
    %below = arith.cmpi ult, %i, %n : index
    %now = memref.load %status[] : memref<i32>
    %clear = arith.cmpi eq, %now, %none : i32
    %on = arith.andi %below, %clear : i1
    scf.condition(%on) %i : index
  } do {
  ^bb0(%i: index):
    memref.store %v, %y[%i] : memref<9000xf64>
    %answer = func.call @tierup_poll(%state) : (i64) -> i32
    %stop = arith.cmpi ne, %answer, %none : i32
    scf.if %stop {
      memref.store %left, %status[] : memref<i32>
    }
    %next = arith.addi %i, %step : index
    scf.yield %next : index
  } attributes {tierup.ends_with_status}
  memref.store %v, %y[%zero] : memref<9000xf64>
  return
}

// -----

// Not where the array lies in another way than its new contents.
// CHECK-LABEL: func.func @strided
// CHECK: memref.copy
func.func @strided(%x: memref<8xf32, strided<[?]>>, %y: memref<8xf32>, %status: memref<i32>) attributes {
    tierup.error_sites = [{}], tierup.result_kinds = ["buffer"], tierup.results = [{argument = 0 : i64, dtype = "f32", kind = "argument", sizes = [8]}]} {
  %first = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.copy %x, %y : memref<8xf32, strided<[?]>> to memref<8xf32>
  memref.store %zero, %y[%first] : memref<8xf32>
  return
}
