// RUN: tierup-opt %s --split-input-file --tierup-leave-loops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-leave-loops --tierup-leave-loops | FileCheck %s

// A loop that is left by its flag, and by a check that fails, in the middle of a round.
// CHECK-LABEL: func.func @search
func.func @search(%x: memref<100xf64>, %least: f64, %status: memref<i32>) -> i64 attributes {tierup.error_sites = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c100 = arith.constant 100 : i64
  %site = arith.constant 7 : i32
  %none = arith.constant 0 : i32
  %true = arith.constant true
  cf.br ^header(%c0, %true, %c0 : i64, i1, i64)
// CHECK: ^[[HEADER:bb.+]]([[I:%.+]]: i64, %{{.+}}: i1, [[FOUND:%.+]]: i64):
// CHECK: cf.cond_br %{{.+}}, ^[[BODY:bb.+]], ^[[LEFT:bb.+]]([[FOUND]] : i64)
^header(%i: i64, %go: i1, %found: i64):
  %below = arith.cmpi slt, %i, %c100 : i64
  %set = memref.load %status[] : memref<i32>
  %clear = arith.cmpi eq, %set, %none : i32
  %on = arith.andi %below, %go : i1
  %more = arith.andi %on, %clear : i1
  cf.cond_br %more, ^body, ^behind loc(#loop)
^body:
  %next = arith.addi %i, %c1 : i64
  %at = arith.index_cast %i : i64 to index
  %v = memref.load %x[%at] : memref<100xf64>
  %hit = arith.cmpf ogt, %v, %least : f64
  %goes = arith.xori %hit, %true : i1
  %which = arith.select %hit, %i, %found : i64
  %bad = arith.cmpf uno, %v, %v : f64
  cf.cond_br %bad, ^failed, ^last
// CHECK: memref.store
// CHECK-NEXT: cf.br ^[[LEFT]]([[FOUND]] : i64)
^failed:
  memref.store %site, %status[] : memref<i32>
  cf.br ^last
// CHECK: [[TRUE:%.+]] = arith.constant true
// CHECK-NEXT: cf.cond_br [[GOES:%.+]], ^[[HEADER]](%{{.+}}, [[TRUE]], [[FOUND]] : i64, i1, i64), ^[[LEFT]]([[I]] : i64)
^last:
  cf.br ^header(%next, %goes, %which : i64, i1, i64)
// CHECK: ^[[LEFT]]([[RESULT:%.+]]: i64):
// CHECK: return [[RESULT]]
^behind:
  return %found : i64
}

#loop = loc("torch.prim.Loop"("x.py":3:4))

// -----

// One that hands memory on from round to round: who owns it has been decided for whole rounds.
// CHECK-LABEL: func.func @of_memory
func.func @of_memory(%x: memref<8xf64>, %n: i64, %status: memref<i32>) attributes {tierup.error_sites = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %site = arith.constant 7 : i32
  cf.br ^header(%c0, %x : i64, memref<8xf64>)
^header(%i: i64, %of: memref<8xf64>):
  %below = arith.cmpi slt, %i, %n : i64
  cf.cond_br %below, ^body, ^behind loc(#loop)
^body:
  %next = arith.addi %i, %c1 : i64
  %bad = arith.cmpi eq, %next, %n : i64
  cf.cond_br %bad, ^failed, ^last
// CHECK: memref.store
// CHECK-NEXT: cf.br ^[[LAST:bb.+]]
// CHECK: ^[[LAST]]:
// CHECK-NEXT: cf.br
^failed:
  memref.store %site, %status[] : memref<i32>
  cf.br ^last
^last:
  cf.br ^header(%next, %of : i64, memref<8xf64>)
^behind:
  return
}

#loop = loc("torch.prim.Loop"("x.py":3:4))

// -----

// One that the program did not write: what follows may take what it computes for whole.
// CHECK-LABEL: func.func @of_the_compiler
func.func @of_the_compiler(%n: i64, %status: memref<i32>) attributes {tierup.error_sites = []} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %site = arith.constant 7 : i32
  cf.br ^header(%c0 : i64)
^header(%i: i64):
  %below = arith.cmpi slt, %i, %n : i64
  cf.cond_br %below, ^body, ^behind
^body:
  %next = arith.addi %i, %c1 : i64
  %bad = arith.cmpi eq, %next, %n : i64
  cf.cond_br %bad, ^failed, ^last
// CHECK: memref.store
// CHECK-NEXT: cf.br ^[[LAST:bb.+]]
// CHECK: ^[[LAST]]:
// CHECK-NEXT: cf.br
^failed:
  memref.store %site, %status[] : memref<i32>
  cf.br ^last
^last:
  cf.br ^header(%next : i64)
^behind:
  return
}
