// RUN: not tierup-opt %s --tierup-verify-grph 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: tierup-opt: unknown command line argument '--tierup-verify-grph'; did you mean '--tierup-verify-graph'?

// RUN: not tierup-opt %s --canonicalise 2>&1 | FileCheck %s --check-prefix=MLIR
// MLIR: tierup-opt: unknown command line argument '--canonicalise'; did you mean '--canonicalize'

// RUN: not tierup-opt %s --split-input-fle 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: unknown command line argument '--split-input-fle'; did you mean '--split-input-file'?

// RUN: not tierup-opt %s --tierup-verify-graph=strict 2>&1 | FileCheck %s --check-prefix=PASSOPTION
// PASSOPTION: pass 'tierup-verify-graph' has no option 'strict'; it has none

// RUN: not tierup-opt %s --tierup-unroll-loops=factor=9223372036854775808 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: option 'factor' of pass 'tierup-unroll-loops' takes <int: at least 2>, not '9223372036854775808'

// RUN: not tierup-opt %s --cse --mlir-print-ir-after=canonicalize,tierup-cs 2>&1 | FileCheck %s --check-prefix=PRINTED
// PRINTED: option --mlir-print-ir-after: no pass is named 'tierup-cs'; did you mean 'tierup-cse'
// RUN: not tierup-opt %s --cse --mlir-print-ir-before=csee 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: option --mlir-print-ir-before: no pass is named 'csee'; did you mean 'cse'

// RUN: not tierup-opt %s --cse=fast 2>&1 | FileCheck %s --check-prefix=MLIROPTION
// MLIROPTION: 'cse{fast}': <Pass-Options-Parser>: no such option fast

// RUN: not tierup-opt %s --pass-pipeline='builtin.module(cse,func.func(inlin))' 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: 'inlin' does not refer to a registered pass or pass pipeline; did you mean 'inline'?
// TEXT-NEXT: builtin.module(cse,func.func(inlin))
// TEXT-NEXT: {{^                             \^}}

// RUN: not tierup-opt %s --pass-pipeline='func.func(tierup-verify-graph)' 2>&1 | FileCheck %s --check-prefix=NEST
// NEST: pass 'tierup-verify-graph' works on a whole module: it cannot stand under func.func

// RUN: not tierup-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: 'builtin.module(' is never closed

// RUN: not tierup-opt %s --pass-pipeline='cse' --canonicalize 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: cannot use --pass-pipeline and single passes

// RUN: not tierup-opt %s --tierup-pipeline=lower-cpuu 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: no pipeline is named 'lower-cpuu'; did you mean 'lower-cpu'?

// RUN: not tierup-opt %s.none 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: tierup-opt: cannot open input file '{{.*}}unknown.mlir.none': No such file or directory

// RUN: not tierup-opt %s %s 2>&1 | FileCheck %s --check-prefix=FILES
// FILES: tierup-opt: one input is read

func.func @f() { return }
